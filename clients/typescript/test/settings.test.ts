/** An option comes first, then the environment, then the default. */

import { chmodSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { findBinary } from "../src/binary.js";
import { Restante, RestanteError } from "../src/index.js";
import { hostAndPort, smtpAddress, waitTimeout } from "../src/settings.js";

beforeEach(() => {
  for (const name of ["URL", "API_KEY", "TIMEOUT", "SMTP", "MAIL_DOMAIN", "BIN"]) vi.stubEnv(`RESTANTE_${name}`, "");
});

afterEach(() => {
  vi.unstubAllEnvs();
});

test("the environment names the server", async () => {
  vi.stubEnv("RESTANTE_URL", "http://mail.example:8025");
  vi.stubEnv("RESTANTE_API_KEY", "rst_live_a");
  vi.stubEnv("RESTANTE_SMTP", "[::1]:2525");
  vi.stubEnv("RESTANTE_MAIL_DOMAIN", "inbox.example");
  const restante = await Restante.connect();
  expect(restante).toMatchObject({
    url: "http://mail.example:8025",
    smtp: { host: "::1", port: 2525 },
    mailDomain: "inbox.example",
  });
});

test("an option comes before the environment", async () => {
  vi.stubEnv("RESTANTE_URL", "http://mail.example:8025");
  vi.stubEnv("RESTANTE_API_KEY", "rst_live_a");
  expect((await Restante.connect({ url: "http://other.example" })).url).toBe("http://other.example");
});

test("an empty option counts as absent", async () => {
  vi.stubEnv("RESTANTE_URL", "http://mail.example:8025");
  vi.stubEnv("RESTANTE_API_KEY", "rst_live_a");
  const restante = await Restante.connect({ url: "", apiKey: "", mailDomain: "" });
  expect(restante).toMatchObject({ url: "http://mail.example:8025", mailDomain: "restante.example.com" });
});

test("an SMTP address is read as it was written", () => {
  for (const address of [
    { host: "::1", port: 2525 },
    { host: "mail.example", port: 25 },
  ]) {
    vi.stubEnv("RESTANTE_SMTP", hostAndPort(address));
    expect(smtpAddress("http://localhost")).toEqual(address);
  }
});

test("without more, mail goes to port 1025 of the server's host", async () => {
  const restante = await Restante.connect({ url: "http://mail.example:8025", apiKey: "rst_live_a" });
  expect(restante).toMatchObject({ smtp: { host: "mail.example", port: 1025 }, mailDomain: "restante.example.com" });
});

test("a server without a key is an error that names the variable", async () => {
  await expect(Restante.connect({ url: "http://mail.example:8025" })).rejects.toThrow("RESTANTE_API_KEY is not set");
});

test("the timeout is seconds in the environment and milliseconds in code", () => {
  expect(waitTimeout(undefined)).toBe(30_000);
  vi.stubEnv("RESTANTE_TIMEOUT", "2.5");
  expect(waitTimeout(undefined)).toBe(2_500);
  expect(waitTimeout(100)).toBe(100);
  vi.stubEnv("RESTANTE_TIMEOUT", "soon");
  expect(() => waitTimeout(undefined)).toThrow("RESTANTE_TIMEOUT");
});

test("RESTANTE_BIN comes first, and must exist", () => {
  vi.stubEnv("RESTANTE_BIN", process.execPath);
  expect(findBinary()).toBe(process.execPath);
  vi.stubEnv("RESTANTE_BIN", "/nowhere/restante");
  expect(() => findBinary()).toThrow("/nowhere/restante");
});

test("the program is found on PATH, but not this package's own command", () => {
  const [ours, shim, directory, program] = [folder(), folder(), folder(), folder()];
  symlinkSync(join(__dirname, "../bin/restante.js"), join(ours, "restante"));
  // What pnpm puts there.
  writeFileSync(join(shim, "restante"), '#!/bin/sh\nexec node "$basedir/../restante/bin/restante.js" "$@"\n', {
    mode: 0o755,
  });
  mkdirSync(join(directory, "restante"));
  writeFileSync(join(program, "restante"), "");
  chmodSync(join(program, "restante"), 0o755);
  vi.stubEnv("PATH", `${ours}:${shim}:${directory}:${program}`);
  expect(findBinary()).toBe(join(program, "restante"));
  vi.stubEnv("PATH", `${ours}:${shim}:${directory}`);
  expect(() => findBinary()).toThrow(RestanteError);
});

function folder(): string {
  return mkdtempSync(join(tmpdir(), "restante-test-"));
}
