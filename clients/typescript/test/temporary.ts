/** Gives the tests a folder for temporary files, and removes it; and their own environment. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export default function setUp(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "restante-tests-"));
  process.env.TMPDIR = folder;
  // A developer's own server is not that of the tests.
  for (const name of Object.keys(process.env)) {
    if (name.startsWith("RESTANTE_") && name !== "RESTANTE_BIN") Reflect.deleteProperty(process.env, name);
  }
  return () => {
    // A server of the last test may still be closing its files.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  };
}
