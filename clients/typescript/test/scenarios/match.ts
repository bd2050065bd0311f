/** Compares what a step returned with what the scenario expects. */

import { camelCase, type Expected } from "./format.js";

/** Where and how a value differs from what is expected; undefined if it does not. */
export function difference(value: unknown, expected: Expected, place = "the result"): string | undefined {
  if (Array.isArray(expected)) return listDifference(value, expected, place);
  if (typeof expected !== "object" || expected === null) {
    return value === expected ? undefined : `${place} is ${shown(value)}, not ${shown(expected)}`;
  }
  const [[word, argument] = []] = Object.entries(expected) as [string, unknown][];
  if (word?.startsWith("$")) {
    return holds(word, value, argument) ? undefined : `${place} is ${shown(value)}, not ${shown(expected)}`;
  }
  if (typeof value !== "object" || value === null) return `${place} is ${shown(value)}, not an object`;
  const fields = value as Record<string, unknown>;
  return firstOf(
    Object.entries(expected).map(([name, field]) => difference(fields[camelCase(name)], field, `${place}.${name}`)),
  );
}

function listDifference(value: unknown, expected: Expected[], place: string): string | undefined {
  if (!Array.isArray(value)) return `${place} is ${shown(value)}, not a list`;
  if (value.length !== expected.length) return `${place} has ${value.length} elements, not ${expected.length}`;
  return firstOf(expected.map((element, index) => difference(value[index], element, `${place}[${index}]`)));
}

function holds(word: string, value: unknown, argument: unknown): boolean {
  switch (word) {
    case "$contains":
      return String(value).includes(argument as string);
    case "$matches":
      return new RegExp(argument as string).test(String(value));
    case "$length":
      return (value as { length: number }).length === argument;
    case "$base64":
      return Buffer.from(argument as string, "base64").equals(value as Buffer);
    default:
      throw new Error(`unknown matcher: ${word}`);
  }
}

function firstOf(differences: (string | undefined)[]): string | undefined {
  return differences.find((difference) => difference !== undefined);
}

function shown(value: unknown): string {
  return value === undefined ? "undefined" : JSON.stringify(value);
}
