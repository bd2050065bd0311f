package io.github.restante;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Instant;
import java.util.Locale;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class TotpTest {
  /** The keys of RFC 6238, appendix B, in Base32. */
  private static final String BASE = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

  private static String uri(String algorithm) {
    String key =
        switch (algorithm) {
          case "SHA1" -> BASE;
          case "SHA256" -> BASE + "GEZDGNBVGY3TQOJQGEZA";
          default -> BASE + BASE + BASE + "GEZDGNA";
        };
    return "otpauth://totp/Shop:ada?secret=" + key + "&algorithm=" + algorithm + "&digits=8";
  }

  @ParameterizedTest
  @CsvSource({
    "59, 94287082, 46119246, 90693936",
    "1111111109, 07081804, 68084774, 25091201",
    "1111111111, 14050471, 67062674, 99943326",
    "1234567890, 89005924, 91819424, 93441116",
    "2000000000, 69279037, 90698825, 38618901",
    "20000000000, 65353130, 77737706, 47863826",
  })
  void vectorsOfTheRfc(long time, String sha1, String sha256, String sha512) {
    Instant at = Instant.ofEpochSecond(time);
    assertEquals(sha1, Totp.code(uri("SHA1"), at));
    assertEquals(sha256, Totp.code(uri("SHA256"), at));
    assertEquals(sha512, Totp.code(uri("SHA512"), at));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        BASE,
        "gezd gnbv gy3t qojq gezd gnbv gy3t qojq",
        "GEZD-GNBV-GY3T-QOJQ-GEZD-GNBV-GY3T-QOJQ",
        "otpauth://totp/ada@example.com?secret=gezdgnbvgy3tqojqgezdgnbvgy3tqojq&issuer=Shop",
      })
  void formsOfASecret(String secret) {
    assertEquals("287082", Totp.code(secret, Instant.ofEpochSecond(59)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "0189",
        "otpauth://hotp/ada?secret=GEZD",
        "otpauth://totp/ada",
        "otpauth://totp/ada?secret=GEZD&digits=9",
        "otpauth://totp/ada?secret=GEZD&algorithm=MD5",
        "otpauth://totp/ada?secret=GEZD&period=0",
      })
  void mistakes(String secret) {
    RestanteException error = assertThrows(RestanteException.class, () -> Totp.code(secret));
    assertFalse(error.getMessage().contains("GEZD"), error.getMessage());
  }

  @ParameterizedTest
  @CsvSource({"0, 0", "26999, 26999", "27000, 30000", "29999, 30000", "30000, 30000"})
  void aCodeIsValidForThreeSeconds(long now, long usable) {
    long start = 1_700_000_010_000L;
    Instant found = Totp.usable(Instant.ofEpochMilli(start + now), 30);
    assertEquals(Instant.ofEpochMilli(start + usable), found);
  }

  /** Alone, because the default locale is that of all tests. */
  @Nested
  @Isolated
  class InALocaleWithOtherDigits {
    @org.junit.jupiter.api.Test
    void aCodeHasTheUsualOnes() {
      Locale before = Locale.getDefault();
      Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
      try {
        assertEquals("287082", Totp.code(BASE, Instant.ofEpochSecond(59)));
      } finally {
        Locale.setDefault(before);
      }
    }
  }

  @org.junit.jupiter.api.Test
  void theCurrentCodeIsOneOfTheCurrentTimes() {
    Instant before = Instant.now();
    String code = Totp.code(BASE);
    Instant after = Instant.now().plusSeconds(1);
    long periods = after.getEpochSecond() / 30 - before.getEpochSecond() / 30;
    assertTrue(
        LongStream.rangeClosed(0, periods)
            .mapToObj(period -> Totp.code(BASE, before.plusSeconds(30 * period)))
            .anyMatch(code::equals));
  }
}
