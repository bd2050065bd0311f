// Gives each entry point an ESM face. There is one copy of the code, so `instanceof` holds for both kinds of import.
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

for (const folder of ["../dist", "../dist/playwright", "../dist/cypress", "../dist/cypress/commands"]) {
  const names = Object.keys(require(`${folder}/index.js`));
  const write = (file, text) => writeFileSync(new URL(`${folder}/${file}`, import.meta.url), text);
  // The commands have no names: importing the file adds them.
  write(
    "index.mjs",
    names.length === 0 ? 'import "./index.js";\n' : `export { ${names.join(", ")} } from "./index.js";\n`,
  );
  write("index.d.mts", `export * from "./index.js";\n`);
}
