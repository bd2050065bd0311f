/** Finds the `restante` binary: that of RESTANTE_BIN, the packaged one, or the one on PATH. */

import { closeSync, existsSync, openSync, readSync } from "node:fs";
import { delimiter, join } from "node:path";

import { RestanteError } from "./errors.js";
import { variable } from "./settings.js";

const PROGRAM = process.platform === "win32" ? "restante.exe" : "restante";
const PACKAGE = `@restante/${process.platform}-${process.arch}`;

/** The path of the `restante` binary. */
export function findBinary(): string {
  const named = variable("RESTANTE_BIN");
  if (named !== undefined) {
    if (existsSync(named)) return named;
    throw new RestanteError(`RESTANTE_BIN is set to a file that does not exist: ${named}`);
  }
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = packaged() ?? folders.map((folder) => join(folder, PROGRAM)).find(isProgram);
  if (found !== undefined) return found;
  throw new RestanteError(
    `The restante binary is missing: there is neither the package ${PACKAGE} nor \`restante\` on PATH. Install ` +
      "without --omit=optional, or build the binary and set RESTANTE_BIN to its path.",
  );
}

function packaged(): string | undefined {
  try {
    return require.resolve(`${PACKAGE}/bin/${PROGRAM}`);
  } catch {
    return undefined;
  }
}

/** Whether a file is no script: this package's command, to which some package managers add a script, searches again. */
function isProgram(path: string): boolean {
  const start = Buffer.alloc(2);
  try {
    const file = openSync(path, "r");
    readSync(file, start);
    closeSync(file);
    return start.toString() !== "#!";
  } catch {
    // It is missing, a directory, or not readable.
    return false;
  }
}
