#!/usr/bin/env node
// The command `restante`: runs the server's program with the same arguments, or `init`.
"use strict";

const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { findBinary } = require("../dist/binary.js");
const { init } = require("../dist/init.js");

function run(binary, args) {
  if (process.execve && process.platform !== "win32") process.execve(binary, [binary, ...args], process.env);
  const child = spawn(binary, args, { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => fail(error.message));
  child.on("close", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

function fail(message) {
  console.error(`restante: ${message}`);
  process.exit(2);
}

try {
  if (process.argv[2] === "init") console.log(init(process.cwd()).join("\n"));
  else run(findBinary(), process.argv.slice(2));
} catch (error) {
  fail(error.message);
}
