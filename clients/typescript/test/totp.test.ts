/** One-time passwords: the vectors of RFC 6238, the forms of a secret, and how long a code lasts. */

import { expect, test } from "vitest";

import { RestanteError, totp } from "../src/index.js";
import { lastingCode, type Clock } from "../src/totp.js";

/** The keys of the RFC, in Base32: 20, 32 and 64 digits of 1234567890…. */
const TEN = "GEZDGNBVGY3TQOJQ";
const SHA1 = TEN.repeat(2);
const SHA256 = `${TEN.repeat(3)}GEZA`;
const SHA512 = `${TEN.repeat(6)}GEZDGNA`;

/** A clock that only a pause moves. A pause ends a moment early once, as timers do. */
function clockAt(seconds: number): Clock & { pauses: number[] } {
  let now = seconds * 1000;
  const pauses: number[] = [];
  return {
    pauses,
    now: () => now,
    sleep: (milliseconds) => {
      pauses.push(milliseconds);
      now += pauses.length === 1 ? milliseconds - 1 : milliseconds;
      return Promise.resolve();
    },
  };
}

test.for<[number, string, string, string]>([
  [30, "94287082", "46119246", "90693936"],
  [1111111080, "07081804", "68084774", "25091201"],
  [1111111110, "14050471", "67062674", "99943326"],
  [1234567890, "89005924", "91819424", "93441116"],
  [2000000000, "69279037", "90698825", "38618901"],
  [20000000000, "65353130", "77737706", "47863826"],
])("the vectors of the RFC: in the period of %d", async ([time, sha1, sha256, sha512]) => {
  const code = (algorithm: string, secret: string) =>
    lastingCode(`otpauth://totp/Shop:ada?secret=${secret}&algorithm=${algorithm}&digits=8`, clockAt(time));
  expect(await Promise.all([code("SHA1", SHA1), code("sha-256", SHA256), code("SHA512", SHA512)])).toEqual([
    sha1,
    sha256,
    sha512,
  ]);
});

test.for<[string, string]>([
  [SHA1, "287082"],
  [SHA1.toLowerCase().replace(/.{4}/g, "$& "), "287082"],
  [`${SHA1.replace(/.{4}/g, "$&-")}====`, "287082"],
  [`OTPAUTH://totp/ada@example.com?secret=${SHA1.toLowerCase()}&issuer=Shop`, "287082"],
  [`otpauth://totp/ada?secret=${SHA1}&digits=7`, "4287082"],
  // Of 60 s, the RFC's second 59 is in the first: its counter is 0.
  [`otpauth://totp/ada?secret=${SHA1}&period=60`, "755224"],
])("a secret is read as %s", async ([secret, code]) => {
  expect(await lastingCode(secret, clockAt(31))).toBe(code);
});

test.for([
  "",
  "SECRET0189",
  "SECRETSEC",
  "otpauth://hotp/ada?secret=SECRET",
  "otpauth://totp/ada",
  "otpauth://totp/ada?secret=SECRETSE&digits=9",
  "otpauth://totp/ada?secret=SECRETSE&digits=6.5",
  "otpauth://totp/ada?secret=SECRETSE&algorithm=MD5",
  "otpauth://totp/ada?secret=SECRETSE&period=0",
])("%s is a mistake, and not shown", async (secret) => {
  const error: unknown = await totp(secret).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RestanteError);
  expect(String(error)).not.toContain("SECRET");
});

test.for<[number, number[], string]>([
  [30, [], "287082"],
  [56.999, [], "287082"],
  [57, [3000, 1], "359152"],
  [59.9, [100, 1], "359152"],
])("at %d s, a code lasts longer than three seconds", async ([time, pauses, code]) => {
  const clock = clockAt(time);
  expect(await lastingCode(SHA1, clock)).toBe(code);
  expect(clock.pauses).toEqual(pauses);
});

test("a period of a second has a code, too", async () => {
  expect(await lastingCode(`otpauth://totp/ada?secret=${SHA1}&period=1`, clockAt(0.5))).toBe("287082");
});

test("the time is that of the system", async () => {
  expect(await totp(SHA1)).toMatch(/^\d{6}$/);
});
