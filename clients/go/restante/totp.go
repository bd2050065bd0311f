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
	offset := sum[len(sum)-1] & 0xf
	number := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	text := fmt.Sprintf("%010d", number)
	return text[len(text)-a.digits:]
}

// authenticatorOf reads a secret. The errors do not contain it.
func authenticatorOf(secret string) (authenticator, error) {
	made := authenticator{hash: sha1.New, digits: 6, period: 30}
	if strings.HasPrefix(strings.ToLower(secret), "otpauth://") {
		uri, err := url.Parse(secret)
		if err != nil || !strings.EqualFold(uri.Host, "totp") {
			return made, mistake("the otpauth URI is not one of type totp")
		}
		query := uri.Query()
		secret = query.Get("secret")
		if err := made.set(query); err != nil {
			return made, err
		}
	}
	letters := strings.ToUpper(strings.NewReplacer(" ", "", "-", "", "=", "", "\t", "", "\n", "").Replace(secret))
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(letters)
	if err != nil || len(key) == 0 {
		return made, mistake("the secret of an authenticator must be in Base32 (letters and the digits 2 to 7)")
	}
	made.key = key
	return made, nil
}

func (a *authenticator) set(query url.Values) error {
	hashes := map[string]func() hash.Hash{"": sha1.New, "SHA1": sha1.New, "SHA256": sha256.New, "SHA512": sha512.New}
	name := strings.ReplaceAll(strings.ToUpper(query.Get("algorithm")), "-", "")
	found, isKnown := hashes[name]
	if !isKnown {
		return mistake("the algorithm of an authenticator must be SHA1, SHA256 or SHA512, not %q", name)
	}
	digits, err := strconv.Atoi(or(query.Get("digits"), "6"))
	if err != nil || digits < 6 || digits > 8 {
		return mistake("an authenticator has 6 to 8 digits, not %q", query.Get("digits"))
	}
	period, err := strconv.ParseInt(or(query.Get("period"), "30"), 10, 32)
	if err != nil || period < 1 {
		return mistake("the period of an authenticator must be a number of seconds, not %q", query.Get("period"))
	}
	a.hash, a.digits, a.period = found, digits, period
	return nil
}
