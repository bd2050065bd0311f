import eslint from "@eslint/js";
import tseslint from "typescript-eslint";

const REPLACED_BY_TESTS = [
  ...["AbortController", "AbortSignal", "Headers", "Request", "Response", "URL", "URLSearchParams", "fetch"],
  ...["clearInterval", "clearTimeout", "performance", "queueMicrotask", "setImmediate", "setInterval", "setTimeout"],
].map((name) => ({ name, message: "Tests replace it: take it from runtime.ts or from a module of Node." }));

export default tseslint.config(
  { ignores: ["dist", "**/node_modules", "**/test-results", "**/playwright-report", "test/cypress/project"] },
  eslint.configs.recommended,
  {
    files: ["**/*.ts", "**/*.mts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "max-lines-per-function": ["error", { max: 70 }],
      "@typescript-eslint/no-unused-vars": ["error", { varsIgnorePattern: "^_", argsIgnorePattern: "^_" }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // It asks for what no-non-null-assertion forbids.
      "@typescript-eslint/non-nullable-type-assertion-style": "off",
      // callSite takes a method to know where its stack begins, and does not call it.
      "@typescript-eslint/unbound-method": "off",
      // Playwright reads which fixtures a function wants from its first parameter.
      "no-empty-pattern": ["error", { allowObjectPatternsAsParameters: true }],
      // Numbers in messages are what they look like.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    },
  },
  {
    // The commands of Cypress run in a browser.
    files: ["src/**/*.ts"],
    ignores: ["src/cypress/commands/**"],
    rules: {
      "no-restricted-globals": ["error", { globals: REPLACED_BY_TESTS }],
      "no-restricted-properties": [
        "error",
        { object: "Date", property: "now", message: "Tests replace it: see runtime.ts." },
      ],
    },
  },
  {
    files: ["**/*.js", "**/*.cjs", "**/*.mjs"],
    languageOptions: {
      globals: {
        console: "readonly",
        process: "readonly",
        require: "readonly",
        URL: "readonly",
        URLSearchParams: "readonly",
      },
    },
  },
  {
    files: ["examples/jest/*.js", "test/limits/*.cjs", "test/replaced/*.cjs"],
    languageOptions: {
      globals: {
        afterAll: "readonly",
        afterEach: "readonly",
        beforeAll: "readonly",
        beforeEach: "readonly",
        expect: "readonly",
        jest: "readonly",
        test: "readonly",
        vi: "readonly",
      },
    },
  },
);
