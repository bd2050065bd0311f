package io.github.restante;

import java.math.BigInteger;
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
  private final Mac mac;
  private final int digits;
  private final int period;

  private Totp(Mac mac, int digits, int period) {
    this.mac = mac;
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
    byte[] hash =
        mac.doFinal(ByteBuffer.allocate(8).putLong(time.getEpochSecond() / period).array());
    int value = ByteBuffer.wrap(hash).getInt(hash[hash.length - 1] & 0xf) & 0x7fffffff;
    // Of another locale, the digits may be others.
    return String.format(Locale.ROOT, "%010d", value).substring(10 - digits);
  }

  /** Reads a secret. The exceptions do not contain it. */
  private static Totp of(String secret) {
    try {
      Map<String, String> query = query(secret);
      String algorithm = query.getOrDefault("algorithm", "SHA1").toUpperCase(Locale.ROOT);
      String hash = "Hmac" + algorithm.replace("-", "");
      int digits = Integer.parseInt(query.getOrDefault("digits", "6"));
      int period = Integer.parseInt(query.getOrDefault("period", "30"));
      if (hash.matches("HmacSHA(1|256|512)") && digits >= 6 && digits <= 8 && period > 0) {
        Mac mac = Mac.getInstance(hash);
        mac.init(new SecretKeySpec(decoded(query.getOrDefault("secret", "")), hash));
        return new Totp(mac, digits, period);
      }
    } catch (GeneralSecurityException | IllegalArgumentException error) {
      // The exception below says it, without the secret.
    }
    throw new RestanteException(
        "the secret of an authenticator is text in Base32 (letters and the digits 2 to 7), or an"
            + " otpauth://totp/ URI with one, and with SHA1, SHA256 or SHA512, 6 to 8 digits and a"
            + " period in seconds");
  }

  private static Map<String, String> query(String secret) {
    if (!secret.toLowerCase(Locale.ROOT).startsWith("otpauth://totp/")) {
      return Map.of("secret", secret);
    }
    Map<String, String> query = new HashMap<>();
    for (String part : secret.substring(secret.indexOf('?') + 1).split("&")) {
      String[] pair = part.split("=", 2);
      query.put(pair[0], URLDecoder.decode(pair[pair.length - 1], StandardCharsets.UTF_8));
    }
    return query;
  }

  /** The bytes of a text in Base32, which is a number in another alphabet than Java's. */
  private static byte[] decoded(String secret) {
    String letters = secret.replaceAll("[\\s=-]", "").toUpperCase(Locale.ROOT);
    StringBuilder number = new StringBuilder();
    letters.chars().forEach(it -> number.append(Character.forDigit(ALPHABET.indexOf(it), 32)));
    int bits = letters.length() * 5;
    BigInteger value = new BigInteger(number.toString(), 32).shiftRight(bits % 8);
    byte[] bytes = new byte[bits / 8];
    for (int index = bytes.length - 1; index >= 0; index--, value = value.shiftRight(8)) {
      bytes[index] = value.byteValue();
    }
    return bytes;
  }
}
