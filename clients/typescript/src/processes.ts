/**
 * Directories for temporary files that are named after a process, so that a later one can remove those of processes
 * that were killed.
 */

import { readdirSync, readFileSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The start of the names of this user's directories of one kind. Process ids have a meaning only within their
 * namespace: another container may share the directory for temporary files.
 */
export function prefix(kind: string): string {
  return `restante-${kind}-${process.getuid?.() ?? "user"}-js-${namespace()}-`;
}

/** Removes the directories with this start whose process has ended. `processOf` returns the identity of the process. */
export function removeAbandoned(start: string, processOf: (path: string, rest: string) => string | undefined): void {
  for (const name of readdirSync(tmpdir()).filter((name) => name.startsWith(start))) {
    const path = join(tmpdir(), name);
    removeIfEnded(path, processOf(path, name.slice(start.length)));
  }
}

/** Removes a directory if its process has ended. Without an identity it stays. */
export function removeIfEnded(path: string, identity: string | undefined): void {
  if (identity === undefined || isAlive(identity)) return;
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // Its server is still closing its files, or another process removes it.
  }
}

/** A process id, and on Linux when the process started: process ids are used again, in containers often. */
export function identityOf(pid: number): string {
  const started = statOf(pid)?.[19];
  return started === undefined ? String(pid) : `${pid}-${started}`;
}

/** Whether the process of an identity is running. A zombie process is not. */
export function isAlive(identity: string): boolean {
  const pid = Number.parseInt(identity, 10);
  try {
    process.kill(pid, 0);
  } catch (error) {
    // A process of another user may have the process id now.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return false;
  }
  return identityOf(pid) === identity && statOf(pid)?.[0] !== "Z";
}

/** The text of a file; undefined if there is none, or if it is about a process that has ended. */
export function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ESRCH"].includes(code)) return undefined;
    throw error;
  }
}

/** The number of the namespace of process ids, which Linux has. */
function namespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid").replace(/\D/g, "");
  } catch {
    return "0";
  }
}

/** What Linux says about a process, from its state on. The name before it may contain spaces. */
function statOf(pid: number): string[] | undefined {
  const stat = process.platform === "linux" ? read(`/proc/${pid}/stat`) : undefined;
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
}
