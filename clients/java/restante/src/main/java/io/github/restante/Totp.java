package io.github.restante;

import java.io.ByteArrayOutputStream;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Time-based one-time passwords (RFC 6238), for a sign-in with a second factor. */
public final class Totp {
  /** How long a code that {@link #code(String)} returns is valid, in milliseconds. */
  private static final long MIN_VALID = 3_000;

  private static final String ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  private static final int BITS_OF_LETTER = 5;
  private final byte[] key;
  private final String algorithm;
  private final int digits;
  private final int period;

  private Totp(byte[] key, String algorithm, int digits, int period) {
    this.key = key;
    this.algorithm = algorithm;
    this.digits = digits;
    this.period = period;
  }

  /**
   * The current code of an authenticator. Waits for the next one if the current one ends within
   * three seconds, so that the application still accepts it.
   *
   * @param secret in Base32, in any case and with spaces, or an otpauth:// URI
   * @return the code
   */
  public static String code(String secret) {
    Totp authenticator = of(secret);
    Instant now = Instant.now();
    Instant usable = usable(now, authenticator.period);
    try {
      TimeUnit.MILLISECONDS.sleep(Duration.between(now, usable).toMillis());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new RestanteException("the thread was interrupted", 0, error);
    }
    return authenticator.at(usable);
  }

  /** The first moment from now whose code is valid for three more seconds. */
  static Instant usable(Instant now, int period) {
    long length = period * 1000L;
    long left = length - now.toEpochMilli() % length;
    return left <= MIN_VALID ? now.plusMillis(left) : now;
  }

  /**
   * The code of an authenticator at a time.
   *
   * @param secret in Base32, in any case and with spaces, or an otpauth:// URI
   * @param time the time
   * @return the code
   */
  public static String code(String secret, Instant time) {
    return of(secret).at(time);
  }

  private String at(Instant time) {
    byte[] hash;
    try {
      Mac mac = Mac.getInstance(algorithm);
      mac.init(new SecretKeySpec(key, algorithm));
      hash = mac.doFinal(ByteBuffer.allocate(8).putLong(time.getEpochSecond() / period).array());
    } catch (GeneralSecurityException error) {
      throw new RestanteException("this Java has no " + algorithm, 0, error);
    }
    int offset = hash[hash.length - 1] & 0xf;
    int value = ByteBuffer.wrap(hash).getInt(offset) & 0x7fffffff;
    // Of another locale, the digits may be others.
    String number = String.format(Locale.ROOT, "%010d", value);
    return number.substring(number.length() - digits);
  }

  /** Reads a secret. The exceptions do not contain it. */
  private static Totp of(String secret) {
    if (!secret.toLowerCase(Locale.ROOT).startsWith("otpauth://")) {
      return new Totp(decoded(secret), "HmacSHA1", 6, 30);
    }
    if (!secret.toLowerCase(Locale.ROOT).startsWith("otpauth://totp/")) {
      throw new RestanteException("the otpauth URI is not one of type totp");
    }
    Map<String, String> query = new HashMap<>();
    for (String part : secret.substring(secret.indexOf('?') + 1).split("&")) {
      String[] pair = part.split("=", 2);
      String value = pair.length == 2 ? pair[1] : "";
      query.put(pair[0], URLDecoder.decode(value, StandardCharsets.UTF_8));
    }
    String algorithm = query.getOrDefault("algorithm", "SHA1").toUpperCase(Locale.ROOT);
    algorithm = algorithm.replace("-", "");
    if (!algorithm.matches("SHA(1|256|512)")) {
      throw new RestanteException("the algorithm must be SHA1, SHA256 or SHA512: " + algorithm);
    }
    int digits = number(query, "digits", 6, 6, 8);
    int period = number(query, "period", 30, 1, Integer.MAX_VALUE);
    return new Totp(decoded(query.getOrDefault("secret", "")), "Hmac" + algorithm, digits, period);
  }

  private static int number(Map<String, String> query, String name, int other, int min, int max) {
    String text = query.getOrDefault(name, Integer.toString(other));
    try {
      int number = Integer.parseInt(text);
      if (number >= min && number <= max) {
        return number;
      }
    } catch (NumberFormatException error) {
      // The exception below says it.
    }
    throw new RestanteException(name + " must be from " + min + " to " + max + ", not " + text);
  }

  private static byte[] decoded(String secret) {
    String letters = secret.replaceAll("[\\s=-]", "").toUpperCase(Locale.ROOT);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    int bits = 0;
    int buffer = 0;
    for (char letter : letters.toCharArray()) {
      int value = ALPHABET.indexOf(letter);
      if (value < 0) {
        throw noSecret();
      }
      buffer = buffer << BITS_OF_LETTER | value;
      bits += BITS_OF_LETTER;
      if (bits >= Byte.SIZE) {
        bits -= Byte.SIZE;
        bytes.write(buffer >> bits);
      }
    }
    if (bytes.size() == 0) {
      throw noSecret();
    }
    return bytes.toByteArray();
  }

  private static RestanteException noSecret() {
    return new RestanteException(
        "the secret of an authenticator must be in Base32 (letters and the digits 2 to 7)");
  }
}
