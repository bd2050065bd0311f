/** Finds the server's program: the one that is named, the packaged one, or the one on PATH. */

import { existsSync, realpathSync } from "node:fs";
import { delimiter, join } from "node:path";

import { RestanteError } from "./errors.js";
import { variable } from "./settings.js";

const PROGRAM = process.platform === "win32" ? "restante.exe" : "restante";
const PACKAGE = `@restante/${process.platform}-${process.arch}`;

/** The path of the server's program. */
export function findBinary(): string {
  const named = variable("RESTANTE_BIN");
  if (named !== undefined) {
    if (existsSync(named)) return named;
    throw new RestanteError(`RESTANTE_BIN names a file that does not exist: ${named}`);
  }
  const found = packaged() ?? onPath();
  if (found !== undefined) return found;
  throw new RestanteError(
    `The server's program is missing: there is neither the package ${PACKAGE} nor \`restante\` on PATH. Install ` +
      "without --omit=optional, or build the program and name it in RESTANTE_BIN.",
  );
}

function packaged(): string | undefined {
  try {
    return require.resolve(`${PACKAGE}/bin/${PROGRAM}`);
  } catch {
    return undefined;
  }
}

/** The first on PATH that is the program and not this package's own command, which would only look for it again. */
function onPath(): string | undefined {
  const candidates = (process.env.PATH ?? "").split(delimiter).map((folder) => join(folder, PROGRAM));
  return candidates.find((path) => existsSync(path) && !realpathSync(path).endsWith(".js"));
}
