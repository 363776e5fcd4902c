import { constants, rmSync } from "node:fs";
import { chmod, cp, type FileHandle, lstat, open, readdir, rm } from "node:fs/promises";
import { isAbsolute, join, normalize, sep } from "node:path";
import { defined } from "../../defined.ts";
import { errorText, LudusError } from "../../errors.ts";
import { maxReadBytes } from "./limits.ts";
import { LinkRefused, type Place, walkFolder } from "./walk-folder.ts";

/** Paths of a box, in a folder of this machine. No link leads out of it, not even one that code swaps in at the right moment. */
export interface BoxFiles {
  /** Where a folder of the box lies, below `inside`. */
  folder(path: string): Promise<string>;
  read(path: string): Promise<Uint8Array>;
  write(path: string, content: string | Uint8Array): Promise<void>;
}

export interface BoxFilesOptions {
  /** The folder as commands of the box see it, where that is another path: absolute links are read with it. */
  readonly inside?: string;
  /** Who owns what is written; this program's user otherwise. */
  readonly owner?: { readonly uid: number; readonly gid: number };
}

// without waiting for a writer where the file is a pipe
const reading = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const writing = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** `root` is a real path. */
export function boxFiles(root: string, { inside = root, owner }: BoxFilesOptions = {}): BoxFiles {
  const own = async (file: FileHandle) => {
    if (owner !== undefined) await file.chown(owner.uid, owner.gid);
  };
  const find = <Value>(path: string, make: boolean, use: (place: Place) => Promise<Value>) => {
    const made = make ? own : undefined;
    return walkFolder(root, checkPath(path), { inside, ...defined({ made }) }, use).catch((error: unknown) => {
      throw toRefusal(error, path);
    });
  };
  return {
    folder: async (path) => {
      try {
        return join(inside, ...(await find(path, false, async ({ names, name }) => [...names, name])));
      } catch (error) {
        if (isMissing(error)) return join(inside, normalize(path)); // whoever uses it finds out
        throw error;
      }
    },
    read: (path) =>
      find(path, false, async ({ at }) => {
        const file = await open(at, reading);
        try {
          const { size } = await regular(file, path);
          if (size > maxReadBytes) throw tooLarge(path, size);
          return await readAll(file, path);
        } finally {
          await file.close();
        }
      }),
    write: (path, content) =>
      find(path, true, async ({ at }) => {
        const file = await open(at, writing, 0o644);
        try {
          await regular(file, path);
          await file.truncate();
          await file.writeFile(content);
          await own(file);
        } finally {
          await file.close();
        }
      }),
  };
}

function checkPath(path: string): string {
  const inside = normalize(path);
  if (path === "" || path.includes("\0")) throw refused(path, "no path");
  if (isAbsolute(path)) throw refused(path, "an absolute path");
  if (inside === ".." || inside.startsWith(`..${sep}`)) throw refused(path, "a path out of the box");
  return inside;
}

const isMissing = (error: unknown) => error instanceof LudusError && error.code === "box-file-missing";

function toRefusal(error: unknown, path: string): unknown {
  if (error instanceof LudusError) return error;
  if (error instanceof LinkRefused) return refused(path, error.message);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") {
    return new LudusError("box-file-missing", { got: JSON.stringify(path), expected: "a file of the box" });
  }
  // the disk is full, or may not be written to: not a matter of the path
  if (code === "ENOSPC" || code === "EROFS" || code === "EDQUOT" || code === "EMFILE") return error;
  return refused(path, errorText(error));
}

async function regular(file: FileHandle, path: string): Promise<{ readonly size: number }> {
  const status = await file.stat();
  if (!status.isFile()) throw refused(path, "a folder, pipe or device");
  return status;
}

/** Its size may have grown since it was asked for. */
async function readAll(file: FileHandle, path: string): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let total = 0;
  for await (const chunk of file.createReadStream({ autoClose: false, end: maxReadBytes })) {
    chunks.push(chunk);
    total += chunk.byteLength;
  }
  if (total > maxReadBytes) throw tooLarge(path, total);
  return new Uint8Array(Buffer.concat(chunks));
}

function tooLarge(path: string, size: number): LudusError {
  return new LudusError("box-file-too-large", {
    got: `${JSON.stringify(path)} of ${size} bytes`,
    expected: `${maxReadBytes} bytes at most`,
    hint: "Read a part of it with a command, such as `head -c 1000`.",
  });
}

function refused(path: string, why: string): LudusError {
  return new LudusError("box-path-refused", {
    got: `${JSON.stringify(path)} (${why})`,
    expected: "the path of a file below the box's root",
  });
}

/** Files, folders and links as they are; pipes and sockets have nothing to copy. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await cp(from, to, {
    recursive: true,
    verbatimSymlinks: true,
    preserveTimestamps: true,
    filter: async (path) => {
      const status = await lstat(path);
      return status.isFile() || status.isDirectory() || status.isSymbolicLink();
    },
  });
}

/** Also where code took away the right to look into a folder. */
export async function removeFolder(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    await unlock(folder);
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function unlock(folder: string): Promise<void> {
  await chmod(folder, 0o700);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await unlock(join(folder, entry.name));
  }
}

const toRemove = new Set<string>();

/** Has a folder removed when this program exits without having done so. Returns what to call once it is gone. */
export function removeAtExit(folder: string): () => void {
  if (toRemove.size === 0) process.on("exit", removeAll);
  toRemove.add(folder);
  return () => {
    toRemove.delete(folder);
    if (toRemove.size === 0) process.off("exit", removeAll);
  };
}

function removeAll(): void {
  for (const folder of toRemove) rmSync(folder, { recursive: true, force: true });
}
