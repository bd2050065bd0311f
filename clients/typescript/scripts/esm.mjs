// Gives each entry point an ESM face. There is one copy of the code, so `instanceof` holds for both kinds of import.
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

for (const folder of ["../dist", "../dist/playwright"]) {
  const names = Object.keys(require(`${folder}/index.js`));
  const write = (file, text) => writeFileSync(new URL(`${folder}/${file}`, import.meta.url), text);
  write("index.mjs", `export { ${names.join(", ")} } from "./index.js";\n`);
  write("index.d.mts", `export * from "./index.js";\n`);
}
