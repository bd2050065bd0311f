/** Time-based one-time passwords (RFC 6238), for tests that sign in with a second factor. */

import { createHmac } from "node:crypto";
import { URL } from "node:url";

import { RestanteError } from "./errors.js";
import { sleep, wallClock } from "./runtime.js";

/** A code that ends sooner than this is not returned, in milliseconds. */
const MIN_VALID = 3_000;
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/** The lengths, modulo 8, that no encoded bytes have. */
const IMPOSSIBLE_LENGTHS = new Set([1, 3, 6]);
const MIN_DIGITS = 6;
const MAX_DIGITS = 8;

/** What an app for one-time passwords knows about an account. */
interface Authenticator {
  key: Buffer;
  algorithm: string;
  digits: number;
  /** How long a code lasts, in milliseconds. */
  period: number;
}

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
  const authenticator = authenticatorOf(secret);
  const { period } = authenticator;
  const now = clock.now();
  const end = now - (now % period) + period;
  // A timer may end a moment too early.
  if (end - now <= MIN_VALID) while (clock.now() < end) await clock.sleep(end - clock.now());
  return codeAt(authenticator, clock.now());
}

function codeAt({ key, algorithm, digits, period }: Authenticator, time: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(time / period)));
  const hash = createHmac(algorithm, key).update(counter).digest();
  const number = hash.readUInt32BE((hash.at(-1) ?? 0) & 0xf) & 0x7fffffff;
  return String(number).padStart(digits, "0").slice(-digits);
}

function authenticatorOf(secret: string): Authenticator {
  if (!/^otpauth:/i.test(secret)) return { key: decoded(secret), algorithm: "SHA1", digits: 6, period: 30_000 };
  const uri = URL.canParse(secret) ? new URL(secret) : undefined;
  if (uri?.host.toLowerCase() !== "totp") throw new RestanteError("The otpauth URI is not one of the type totp.");
  const given = (name: string, usual: string) => uri.searchParams.get(name) ?? usual;
  const algorithm = given("algorithm", "SHA1").toUpperCase().replace("-", "");
  const digits = Number(given("digits", "6"));
  const period = Number(given("period", "30"));
  if (!["SHA1", "SHA256", "SHA512"].includes(algorithm)) {
    throw new RestanteError(`The algorithm of an authenticator must be SHA1, SHA256 or SHA512, not ${algorithm}.`);
  }
  if (!Number.isInteger(digits) || digits < MIN_DIGITS || digits > MAX_DIGITS) {
    throw new RestanteError(`An authenticator has 6 to 8 digits, not ${given("digits", "")}.`);
  }
  if (!Number.isInteger(period) || period < 1) {
    throw new RestanteError(`The period of an authenticator must be a number of seconds, not ${given("period", "")}.`);
  }
  return { key: decoded(given("secret", "")), algorithm, digits, period: period * 1000 };
}

/** The bytes of a secret in Base32, as apps and web pages show it. */
function decoded(secret: string): Buffer {
  const letters = secret.toUpperCase().replace(/[\s=-]/g, "");
  if (!/^[A-Z2-7]+$/.test(letters) || IMPOSSIBLE_LENGTHS.has(letters.length % 8)) {
    throw new RestanteError("The secret of an authenticator must be in Base32 (letters and the digits 2 to 7).");
  }
  const bits = Array.from(letters, (letter) => ALPHABET.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const bytes = bits.match(/.{8}/g) ?? [];
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)));
}
