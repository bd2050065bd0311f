/** Gives the tests a folder for temporary files, and removes it. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export default function setUp(): () => void {
  const folder = mkdtempSync(join(tmpdir(), "restante-tests-"));
  process.env.TMPDIR = folder;
  return () => {
    // A server of the last test may still be closing its files.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  };
}
