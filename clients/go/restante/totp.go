// Time-based one-time passwords (RFC 6238), for a test that signs in to an application with a second factor.

package restante

import (
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // The algorithm of most authenticators.
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// minValid is how long a code that TOTP returns is valid.
const minValid = 3 * time.Second

type authenticator struct {
	key    []byte
	hash   func() hash.Hash
	digits int
	period int64
}

var hashes = map[string]func() hash.Hash{"SHA1": sha1.New, "SHA256": sha256.New, "SHA512": sha512.New}

// TOTP returns the current code of an authenticator. The secret is in Base32, in any case and with spaces, or an
// otpauth:// URI with algorithm, digits and period. It waits for the next code if the current one ends within three
// seconds, so that the application still accepts it.
func TOTP(ctx context.Context, secret string) (string, error) {
	authenticator, err := authenticatorOf(secret)
	if err != nil {
		return "", err
	}
	now := time.Now()
	period := time.Duration(authenticator.period) * time.Second
	if left := period - time.Duration(now.UnixNano())%period; left <= minValid {
		select {
		case <-time.After(left):
		case <-ctx.Done():
			return "", fmt.Errorf("restante: waiting for the next code: %w", context.Cause(ctx))
		}
		now = now.Add(left)
	}
	return authenticator.code(now), nil
}

// TOTPAt returns the code of an authenticator at a time.
func TOTPAt(secret string, at time.Time) (string, error) {
	authenticator, err := authenticatorOf(secret)
	if err != nil {
		return "", err
	}
	return authenticator.code(at), nil
}

func (a authenticator) code(at time.Time) string {
	mac := hmac.New(a.hash, a.key)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()/a.period)))
	sum := mac.Sum(nil)
	number := binary.BigEndian.Uint32(sum[sum[len(sum)-1]&0xf:]) & 0x7fffffff
	return fmt.Sprintf("%010d", number)[10-a.digits:]
}

// authenticatorOf reads a secret. The errors do not contain it.
func authenticatorOf(secret string) (authenticator, error) {
	query := url.Values{"secret": {secret}}
	if uri, err := url.Parse(secret); err == nil && uri.Scheme == "otpauth" && strings.EqualFold(uri.Host, "totp") {
		query = uri.Query()
	}
	letters := strings.NewReplacer(" ", "", "-", "", "=", "", "\t", "", "\n", "").Replace(query.Get("secret"))
	key, wrongKey := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(letters))
	hash := hashes[strings.ReplaceAll(strings.ToUpper(or(query.Get("algorithm"), "SHA1")), "-", "")]
	digits, wrongDigits := strconv.Atoi(or(query.Get("digits"), "6"))
	period, wrongPeriod := strconv.ParseInt(or(query.Get("period"), "30"), 10, 32)
	isWrong := errors.Join(wrongKey, wrongDigits, wrongPeriod) != nil
	if isWrong || len(key) == 0 || hash == nil || digits < 6 || digits > 8 || period < 1 {
		return authenticator{}, mistake("the secret of an authenticator is text in Base32 (letters and the digits 2 to 7), " +
			"or an otpauth://totp/ URI with one, and with SHA1, SHA256 or SHA512, 6 to 8 digits and a period in seconds")
	}
	return authenticator{key, hash, digits, period}, nil
}
