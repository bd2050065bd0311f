/** Compares texts with what a caller asked for. */

/** A text that is contained, without regard to case, or a regular expression. */
export type TextMatch = string | RegExp;

/** Whether a text matches. Parts of addresses are compared in their exact case. */
export function matchesText(text: string, match: TextMatch, mode?: "exact case"): boolean {
  if (match instanceof RegExp) {
    // A copy, because a regular expression with the flag g or y remembers where it stopped.
    return new RegExp(match.source, match.flags.replace(/[gy]/g, "")).test(text);
  }
  return mode === "exact case" ? text.includes(match) : text.toLowerCase().includes(match.toLowerCase());
}

/** The pattern of a whole file name, in which `*` stands for any characters. */
export function globPattern(name: string): RegExp {
  const parts = name.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "is");
}
