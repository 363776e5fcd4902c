import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { threadId } from "node:worker_threads";
import { replaceFolder, syncDirectory } from "../../atomic-folder.ts";
import { LudusError } from "../../errors.ts";

/** One call of the system reads or writes at most 2 GiB. */
export const maxTransfer = 1 << 30;

export function writeBytes(file: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(file, bytes, done, Math.min(maxTransfer, bytes.length - done));
  }
}

function partialName(path: string): string {
  return join(dirname(path), `.${basename(path)}.${process.pid}-${threadId}.partial`);
}

/** Writes beside the path, then puts the file in place at once: a reader finds the old one or the new one, whole. */
export function writeFileAtomically(path: string, write: (file: number) => void): void {
  const partial = partialName(path);
  try {
    const file = openSync(partial, "w");
    try {
      write(file);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(partial, path);
    syncDirectory(dirname(path));
  } catch (error) {
    rmSync(partial, { force: true });
    throw notWritten(error, path);
  }
}

/** Fills a new folder beside the path, then puts it in place of what was there. */
export function writeFolderAtomically(path: string, fill: (directory: string) => void): void {
  const target = resolve(path);
  const partial = partialName(target);
  try {
    mkdirSync(dirname(target), { recursive: true });
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(partial);
    fill(partial);
    replaceFolder(partial, target);
  } catch (error) {
    rmSync(partial, { recursive: true, force: true });
    throw notWritten(error, path);
  }
}

function notWritten(error: unknown, path: string): unknown {
  if (error instanceof LudusError || !(error instanceof Error && "code" in error)) return error;
  const hint = "Nothing was changed: what had this name is as it was before.";
  return new LudusError("checkpoint-not-written", { got: error.message, expected: path, hint, cause: error });
}
