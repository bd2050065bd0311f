/** Time-based one-time passwords (RFC 6238), for tests that sign in with a second factor. */

import { createHmac } from "node:crypto";
import { URL } from "node:url";

import { RestanteError } from "./errors.js";
import { sleep, wallClock } from "./runtime.js";

/** A code that ends sooner than this is not returned, in milliseconds. */
const MIN_VALID = 3_000;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/** The lengths in Base32, modulo 8, that no bytes have. */
const IMPOSSIBLE_LENGTHS = [1, 3, 6];
const MISTAKE =
  "The secret of an authenticator must be in Base32 (letters and the digits 2 to 7), or an otpauth URI of the type " +
  "totp, with SHA1, SHA256 or SHA512, 6 to 8 digits, and a period in seconds.";

/**
 * The time, in milliseconds since 1970, and a pause.
 * @internal
 */
export interface Clock {
  now(): number;
  sleep(milliseconds: number): Promise<unknown>;
}

const SYSTEM: Clock = { now: wallClock, sleep };

/**
 * The current code of an authenticator app. If it ends within three seconds, waits for the next one, so that the
 * application still accepts it. `secret` is in Base32, in any case and with spaces, or an `otpauth://totp/` URI, which
 * may also set `algorithm`, `digits` and `period`.
 * @throws {@link RestanteError} if it is neither. The error does not show it.
 */
export function totp(secret: string): Promise<string> {
  return lastingCode(secret, SYSTEM);
}

/**
 * The same, with a clock.
 * @internal
 */
export async function lastingCode(secret: string, clock: Clock): Promise<string> {
  const { key, algorithm, digits, period } = authenticatorOf(secret);
  const now = clock.now();
  const end = now - (now % period) + period;
  // A timer may end a moment too early.
  if (end - now <= MIN_VALID) while (clock.now() < end) await clock.sleep(end - clock.now());
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(clock.now() / period)));
  const hash = createHmac(algorithm, key).update(counter).digest();
  const number = hash.readUInt32BE((hash.at(-1) ?? 0) & 0xf) & 0x7fffffff;
  return String(number).padStart(digits, "0").slice(-digits);
}

/** What an app for one-time passwords knows about an account. How long a code lasts is in milliseconds. */
function authenticatorOf(secret: string): { key: Buffer; algorithm: string; digits: number; period: number } {
  const text = /^otpauth:/i.test(secret) ? secret : `otpauth://totp?secret=${encodeURIComponent(secret)}`;
  const uri = URL.canParse(text) ? new URL(text) : undefined;
  const given = (name: string, usual: string) => uri?.searchParams.get(name) ?? usual;
  const letters = given("secret", "")
    .toUpperCase()
    .replace(/[\s=-]/g, "");
  const algorithm = given("algorithm", "SHA1").toUpperCase().replace("-", "");
  const [digits, period] = [given("digits", "6"), given("period", "30")];
  const isUsual = uri?.host.toLowerCase() === "totp" && /^SHA(?:1|256|512)$/.test(algorithm);
  const isBase32 = /^[A-Z2-7]+$/.test(letters) && !IMPOSSIBLE_LENGTHS.includes(letters.length % 8);
  if (!isUsual || !isBase32 || !/^[678]$/.test(digits) || !/^[1-9]\d{0,9}$/.test(period)) {
    throw new RestanteError(MISTAKE);
  }
  const bits = Array.from(letters, (letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const bytes = (bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2));
  return { key: Buffer.from(bytes), algorithm, digits: Number(digits), period: Number(period) * 1000 };
}
