package restante

import (
	"encoding/base32"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// uriOf returns an authenticator with the key of RFC 6238, appendix B, repeated to the length of the hash.
func uriOf(algorithm string, length int) string {
	key := strings.Repeat("1234567890", 7)[:length]
	secret := base32.StdEncoding.EncodeToString([]byte(key))
	return fmt.Sprintf("otpauth://totp/Shop:ada?secret=%s&algorithm=%s&digits=8&period=30", secret, algorithm)
}

func TestTheVectorsOfTheRFC(t *testing.T) {
	sha1, sha256, sha512 := uriOf("SHA1", 20), uriOf("SHA256", 32), uriOf("SHA512", 64)
	for _, test := range []struct {
		secret string
		at     int64
		code   string
	}{
		{sha1, 59, "94287082"}, {sha256, 59, "46119246"}, {sha512, 59, "90693936"},
		{sha1, 1111111109, "07081804"}, {sha256, 1111111109, "68084774"}, {sha512, 1111111109, "25091201"},
		{sha1, 1111111111, "14050471"}, {sha256, 1111111111, "67062674"}, {sha512, 1111111111, "99943326"},
		{sha1, 1234567890, "89005924"}, {sha256, 1234567890, "91819424"}, {sha512, 1234567890, "93441116"},
		{sha1, 2000000000, "69279037"}, {sha256, 2000000000, "90698825"}, {sha512, 2000000000, "38618901"},
		{sha1, 20000000000, "65353130"}, {sha256, 20000000000, "77737706"}, {sha512, 20000000000, "47863826"},
	} {
		if code, err := TOTPAt(test.secret, time.Unix(test.at, 0)); err != nil || code != test.code {
			t.Errorf("%v: %s, %v", test, code, err)
		}
	}
}

func TestTheFormsOfASecret(t *testing.T) {
	at := time.Unix(59, 0)
	for _, secret := range []string{
		"GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
		"gezd gnbv gy3t qojq gezd gnbv gy3t qojq",
		"GEZD-GNBV-GY3T-QOJQ-GEZD-GNBV-GY3T-QOJQ",
		"otpauth://totp/ada@example.com?secret=gezdgnbvgy3tqojqgezdgnbvgy3tqojq&issuer=Shop",
	} {
		if code, err := TOTPAt(secret, at); err != nil || code != "287082" {
			t.Errorf("%s: %s, %v", secret, code, err)
		}
	}
	for _, mistake := range []string{
		"", "0189", "otpauth://hotp/ada?secret=GEZD", "otpauth://totp/ada", "otpauth://totp/ada?secret=GEZD&digits=9",
		"otpauth://totp/ada?secret=GEZD&algorithm=MD5", "otpauth://totp/ada?secret=GEZD&period=0",
	} {
		_, err := TOTPAt(mistake, at)
		wantError[Error](t, err)
		if strings.Contains(err.Error(), "GEZD") {
			t.Error("it shows the secret:", err)
		}
	}
}

func TestACodeIsValidForThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 30 {
			secret := "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
			code, err := TOTP(t.Context(), secret)
			later, laterErr := TOTPAt(secret, time.Now().Add(minValid))
			if err != nil || laterErr != nil || code != later {
				t.Fatalf("at %s: %s, later %s", time.Now(), code, later)
			}
			time.Sleep(1100 * time.Millisecond)
		}
	})
}
