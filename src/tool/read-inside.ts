import { constants } from "node:fs";
import { open, realpath } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";
import { errorText, LudusError } from "../errors.ts";

/**
 * The text of a regular file inside a folder. Rejects with `file-path-refused` for a path that leaves the folder (`..`, absolute, or
 * through a link), `file-missing`, `file-too-large`, and `file-not-text` for what is no UTF-8.
 */
export async function readInside(folder: string, path: string, maxBytes: number): Promise<string> {
  const real = await pathInside(folder, path);
  // what waits for a writer must not make this wait
  const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch((error) => {
    throw missing(path, error);
  });
  try {
    const about = await file.stat();
    const { size } = about;
    if (!about.isFile()) throw missing(path);
    const bytes = size > maxBytes ? undefined : await file.readFile();
    if (bytes === undefined || bytes.length > maxBytes) {
      throw new LudusError("file-too-large", {
        got: `${path} of ${size} bytes`,
        expected: `at most ${maxBytes} bytes`,
      });
    }
    return textOf(path, bytes);
  } finally {
    await file.close();
  }
}

/** Where a path leads, links followed. */
export async function pathInside(folder: string, path: string): Promise<string> {
  if (path === "" || path.includes("\0") || isAbsolute(path) || path.split(/[/\\]/).includes("..")) throw refused(path);
  const fail = (error: unknown) => {
    throw missing(path, error);
  };
  const root = await realpath(folder).catch(fail);
  const real = await realpath(join(root, path)).catch(fail);
  const way = relative(root, real);
  if (way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way)) throw refused(path);
  return real;
}

export function textOf(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new LudusError("file-not-text", { got: `${path}, which is no UTF-8`, expected: "a text file", cause });
  }
}

function refused(path: string): LudusError {
  return new LudusError("file-path-refused", {
    got: `the path ${JSON.stringify(path)}, which leads out of its folder`,
    expected: "a path inside the folder",
  });
}

function missing(path: string, cause?: unknown): LudusError {
  const why = cause === undefined ? "" : ` (${errorText(cause)})`;
  return new LudusError("file-missing", {
    got: `no file at ${JSON.stringify(path)}${why}`,
    expected: "a regular file",
    cause,
  });
}
