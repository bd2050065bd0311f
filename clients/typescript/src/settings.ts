/** Settings: an option in code, then the environment, then the default. */

import { URL } from "node:url";

import { RestanteError, UnreachableError } from "./errors.js";
import type { SmtpAddress } from "./types.js";

/** The options of a client. Missing ones are read from the environment. */
export interface RestanteOptions {
  /** The server's address, `RESTANTE_URL`. Without it, a server is started and belongs to this client. */
  url?: string | undefined;
  /** The key, `RESTANTE_API_KEY`. */
  apiKey?: string | undefined;
  /** How long a wait lasts, in milliseconds; `RESTANTE_TIMEOUT` in seconds; 30 seconds by default. */
  timeout?: number | undefined;
  /** The SMTP server, `RESTANTE_SMTP` as `HOST:PORT`; by default port 1025 of the server's host. */
  smtp?: SmtpAddress | undefined;
  /** The server's mail domain, `RESTANTE_MAIL_DOMAIN`; by default `restante.example.com`. */
  mailDomain?: string | undefined;
}

/** The mail domain of a server that has no other. */
export const DEFAULT_DOMAIN = "restante.example.com";
const DEFAULT_TIMEOUT = 30_000;
const DEFAULT_SMTP_PORT = 1025;
const MAX_PORT = 65_535;

/** How long a wait lasts, in milliseconds. */
export function waitTimeout(option: number | undefined): number {
  if (option !== undefined) return milliseconds(option, "timeout");
  const text = variable("RESTANTE_TIMEOUT");
  if (text === undefined) return DEFAULT_TIMEOUT;
  const seconds = Number(text);
  if (!(seconds >= 0)) {
    throw new RestanteError(`RESTANTE_TIMEOUT must be a number of seconds, not ${JSON.stringify(text)}.`);
  }
  return seconds * 1000;
}

/** A time that was given in code; JavaScript does not check its type. */
export function milliseconds(value: unknown, name: string): number {
  if (typeof value === "number" && value >= 0) return value;
  throw new RestanteError(`${name} must be a number of milliseconds, not ${String(value)}.`);
}

/** The server's address, checked. */
export function serverUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw new UnreachableError(
      `The address of the server (RESTANTE_URL) must start with http:// or https://, not: ${text}`,
    );
  }
  if (url.username !== "" || url.password !== "") {
    throw new UnreachableError("The address of the server must not contain a user or a password.");
  }
  return url;
}

/** The key, checked. The error does not show it. */
export function checkedKey(key: string): string {
  if (/^[\x21-\x7e]*$/.test(key)) return key;
  throw new RestanteError("RESTANTE_API_KEY contains a space or another character that no key has.");
}

/** The SMTP address of the server at `url`. */
export function smtpAddress(url: string): SmtpAddress {
  const { hostname } = serverUrl(url);
  const text = variable("RESTANTE_SMTP");
  if (text === undefined) return { host: hostname.replace(/^\[|\]$/g, ""), port: DEFAULT_SMTP_PORT };
  const { groups } = /^(?:\[(?<six>[^\]]+)\]|(?<host>[^:]+)):(?<port>\d+)$/.exec(text) ?? {};
  const host = groups?.six ?? groups?.host;
  const port = Number(groups?.port);
  if (host === undefined || port < 1 || port > MAX_PORT) {
    throw new RestanteError(`RESTANTE_SMTP must be HOST:PORT, not ${JSON.stringify(text)}.`);
  }
  return { host, port };
}

/** The base URL for a test helper of Mailpit, at a server without a listener for it. */
export function mailpitUrl(url: string): string {
  return `${url.replace(/\/+$/, "")}/mailpit`;
}

/** The same for the server at `url` that the environment has. */
export function namedMailpitUrl(url: string): string {
  return variable("RESTANTE_MAILPIT_URL") ?? mailpitUrl(url);
}

/** `HOST:PORT`, as `RESTANTE_SMTP` has it. */
export function hostAndPort({ host, port }: SmtpAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** A variable of the environment; an empty one counts as absent. */
export function variable(name: string): string | undefined {
  return given(process.env[name]);
}

/** A text that was given; an empty one counts as absent. */
export function given(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
