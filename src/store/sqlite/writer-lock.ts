import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { LudusError } from "../../errors.ts";
import { holderText, lockedError } from "../locked-error.ts";
import { loadSqlite } from "./load-sqlite.ts";
import { explained } from "./sqlite-error.ts";

/** `isLocked` holds the lock for a moment, which must not make a writer fail. */
const probeMs = 250;

/**
 * Makes this the one writer of a run, until the function it returns is called or the process ends, however it ends.
 * The lock is the operating system's, held by a transaction that stays open on `run.lock`: it cannot be left behind, and no
 * process id is ever mistaken for that of another process.
 */
export function lockForWriting(directory: string, now: () => number): () => void {
  const file = join(directory, "run.lock");
  const lock = explained(file, () => new (loadSqlite().DatabaseSync)(file, { timeout: probeMs }));
  try {
    const who = [process.pid, hostname(), now()] as const;
    explained(file, () => {
      lock.exec("BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS holder(pid INTEGER, host TEXT, since REAL) STRICT");
      lock.exec("DELETE FROM holder");
      lock.prepare("INSERT INTO holder VALUES (?, ?, ?)").run(...who);
      // committed, so that others can read who it is; should one of them come between, that one has the lock
      lock.exec("COMMIT; BEGIN IMMEDIATE");
    });
  } catch (error) {
    const isHeld = error instanceof LudusError && error.code === "store-busy";
    const holder = isHeld ? holderOf(lock) : "";
    lock.close();
    if (!isHeld) throw error;
    throw lockedError(directory, holder, error);
  }
  return () => {
    if (lock.isOpen) lock.close();
  };
}

/** Whether a writer has the run: its lock cannot be taken. */
export function isLocked(directory: string): boolean {
  const file = join(directory, "run.lock");
  if (!existsSync(file)) return false;
  let lock: DatabaseSync | undefined;
  try {
    lock = new (loadSqlite().DatabaseSync)(file, { timeout: 0 });
    // takes the lock and writes nothing
    lock.exec("BEGIN IMMEDIATE; ROLLBACK");
    return false;
  } catch (error) {
    // anything else, such as a folder that cannot be written to: no writer here
    return error instanceof Error && "errcode" in error && error.errcode === 5;
  } finally {
    lock?.close();
  }
}

function holderOf(lock: DatabaseSync): string {
  try {
    lock.exec("PRAGMA busy_timeout = 1000");
    const holder = lock.prepare("SELECT pid, host, since FROM holder").get();
    if (holder === undefined) return "another process";
    return holderText({ pid: Number(holder.pid), host: String(holder.host), since: Number(holder.since) });
  } catch {
    return "another process"; // which has only just begun
  }
}
