import { constants, rmSync } from "node:fs";
import { chmod, cp, type FileHandle, lstat, mkdir, open, readdir, realpath, rm } from "node:fs/promises";
import { dirname, isAbsolute, join, normalize, relative, sep } from "node:path";
import { errorText, LudusError } from "../../errors.ts";
import { maxReadBytes } from "./limits.ts";

/**
 * Paths of a box, in a folder of this machine. They are resolved before they are opened, so code that swaps a folder for a
 * link at the right moment gets around the check; at level `process` it could have read the file by itself.
 */
export interface BoxFiles {
  /** Where a folder of the box lies on this machine. */
  folder(path: string): Promise<string>;
  read(path: string): Promise<Uint8Array>;
  write(path: string, content: string | Uint8Array): Promise<void>;
}

// without waiting for a writer where the file is a pipe
const reading = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const writing = constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** `root` is a real path. */
export function boxFiles(root: string): BoxFiles {
  /** The real path of the deepest part that exists, which must be inside, and then the rest. */
  const resolve = async (path: string): Promise<string> => {
    const inside = join(root, checkPath(path));
    let existing = inside;
    while (!(await exists(existing)) && existing !== root) existing = dirname(existing);
    const real = await realpath(existing).catch(() => {
      throw refused(path, "a link that leads nowhere");
    });
    if (real !== root && !real.startsWith(root + sep)) throw refused(path, "a link that leads out of the box");
    return join(real, relative(existing, inside));
  };
  return {
    folder: resolve,
    async read(path) {
      const file = await openFile(await resolve(path), reading, path);
      try {
        const { size } = await regular(file, path);
        if (size > maxReadBytes) throw tooLarge(path, size);
        return await readAll(file, path);
      } finally {
        await file.close();
      }
    },
    async write(path, content) {
      const target = await resolve(path);
      await mkdir(dirname(target), { recursive: true }).catch((error: unknown) => {
        throw refused(path, errorText(error));
      });
      const file = await openFile(target, writing, path);
      try {
        await regular(file, path);
        await file.truncate();
        await file.writeFile(content);
      } finally {
        await file.close();
      }
    },
  };
}

function checkPath(path: string): string {
  const inside = normalize(path);
  if (path === "" || path.includes("\0")) throw refused(path, "no path");
  if (isAbsolute(path)) throw refused(path, "an absolute path");
  if (inside === ".." || inside.startsWith(`..${sep}`)) throw refused(path, "a path out of the box");
  return inside;
}

const exists = (path: string) =>
  lstat(path).then(
    () => true,
    () => false,
  );

async function openFile(target: string, flags: number, path: string): Promise<FileHandle> {
  try {
    return await open(target, flags);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") {
      throw new LudusError("box-file-missing", { got: JSON.stringify(path), expected: "a file of the box" });
    }
    // the disk is full, or may not be written to: not a matter of the path
    if (code === "ENOSPC" || code === "EROFS" || code === "EDQUOT" || code === "EMFILE") throw error;
    throw refused(path, errorText(error));
  }
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
