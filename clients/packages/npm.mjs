#!/usr/bin/env node
// Packs `restante` and the package with the server's program for this platform, ready to install or to publish.
//
//     npm.mjs BINARY OUT      BINARY: the program, built for this platform; OUT: the folder for the two .tgz files
//
// The client must be built (npm run build). Nothing is written outside OUT.
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Every platform that has a package; a release builds all of them. */
const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-arm64", "darwin-x64", "win32-x64"];
const CLIENT = fileURLToPath(new URL("../typescript", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const LICENSES = ["LICENSE-APACHE", "LICENSE-MIT"];
/** The address of the repository, for links: set by the workflows. */
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
const REPOSITORY = GITHUB_REPOSITORY && `${GITHUB_SERVER_URL ?? "https://github.com"}/${GITHUB_REPOSITORY}`;
/** npm refuses a package with provenance that does not name the repository that built it. */
const NAMED = REPOSITORY ? { repository: { type: "git", url: `git+${REPOSITORY}.git` } } : {};

const [binary, out] = process.argv.slice(2);
if (binary === undefined || out === undefined) {
  console.error("Usage: npm.mjs BINARY OUT");
  process.exit(2);
}
const manifest = JSON.parse(readFileSync(join(CLIENT, "package.json"), "utf8"));
mkdirSync(out, { recursive: true });
const staging = mkdtempSync(join(resolve(out), "staging-"));
try {
  pack("platform", platformPackage);
  pack("client", clientPackage);
} finally {
  rmSync(staging, { recursive: true });
}

/** Fills a folder and packs it. */
function pack(name, fill) {
  const folder = join(staging, name);
  mkdirSync(folder);
  for (const license of LICENSES) copyFileSync(join(ROOT, license), join(folder, license));
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(fill(folder), null, 2)}\n`);
  const flags = ["pack", "--silent", "--pack-destination", resolve(out)];
  const packed = execFileSync("npm", flags, { cwd: folder, encoding: "utf8", shell: process.platform === "win32" });
  console.log(join(out, packed.trim()));
}

/** The program, and which systems may install it. */
function platformPackage(folder) {
  const { platform, arch } = process;
  const program = platform === "win32" ? "restante.exe" : "restante";
  mkdirSync(join(folder, "bin"));
  copyFileSync(binary, join(folder, "bin", program));
  chmodSync(join(folder, "bin", program), 0o755);
  writeFileSync(join(folder, "README.md"), `The server's program for ${platform}-${arch}. Install \`restante\`.\n`);
  // A static program, linked with musl, runs on every Linux. Another one names the loader of glibc at its start.
  const isGlibc = platform === "linux" && readFileSync(binary).subarray(0, 4096).includes("/ld-linux");
  const { version, license, engines } = manifest;
  const description = `Restante's server for ${platform}-${arch}`;
  const where = { os: [platform], cpu: [arch], ...(isGlibc ? { libc: ["glibc"] } : {}) };
  const files = ["bin", ...LICENSES];
  return { name: `@restante/${platform}-${arch}`, version, description, license, engines, ...where, files, ...NAMED };
}

/** The client as it is published: with the programs as optional dependencies, without what only its tests need. */
function clientPackage(folder) {
  for (const name of ["dist", "bin"]) cpSync(join(CLIENT, name), join(folder, name), { recursive: true });
  writeFileSync(join(folder, "README.md"), withoutRelativeLinks(readFileSync(join(CLIENT, "README.md"), "utf8")));
  const { devDependencies: _dev, workspaces: _workspaces, scripts: _scripts, ...published } = manifest;
  const optionalDependencies = Object.fromEntries(
    PLATFORMS.map((platform) => [`@restante/${platform}`, manifest.version]),
  );
  return { ...published, files: [...published.files, ...LICENSES], optionalDependencies, ...NAMED };
}

/** Relative links do not work on the registry's page: they get the repository's address, or become text without one. */
function withoutRelativeLinks(markdown) {
  return markdown.replace(/(!?)\[([^\]]*)\]\(((?![a-z]+:|#)[^)]+)\)/g, (_, image, text, path) => {
    if (!REPOSITORY) return image ? `(${text})` : text;
    const target = new URL(path, "file:///clients/typescript/").href.slice("file://".length);
    return `${image}[${text}](${REPOSITORY}/${image ? "raw" : "blob"}/HEAD${target})`;
  });
}
