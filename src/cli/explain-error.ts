import { inspect } from "node:util";
import { errorStack, LudusError } from "../errors.ts";
import { UnknownOptionError } from "../known-options.ts";

/**
 * What is said of an error: one line for what a user can mend. What else was thrown is a bug, here or in the user's own file, and is
 * told with its stack.
 */
export function explainError(error: unknown, withStack: boolean): string {
  if (withStack) return error instanceof Error ? inspect(error) : errorStack(error);
  if (error instanceof LudusError) return error.message;
  if (error instanceof UnknownOptionError) return `${error.message}${placeOf(error)}`;
  return systemError(error)?.message ?? `${errorStack(error)}${causesOf(error)}`;
}

/** Where in the user's own files it came from: the first line of the stack that is not ours. */
function placeOf({ stack = "" }: Error): string {
  const own = new URL("..", import.meta.url).href;
  const frame = stack
    .split("\n")
    .find((line) => /^\s+at /.test(line) && !line.includes(own) && !line.includes("node:"));
  const place = /(?:file:\/\/)?(\/[^()]*?:\d+:\d+)\)?$/.exec(frame ?? "")?.[1];
  return place === undefined ? "" : ` (${place})`;
}

function causesOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause === undefined ? "" : `\nCaused by: ${errorStack(cause)}${causesOf(cause)}`;
}

interface SystemError extends Error {
  readonly code: string;
  readonly path?: string;
  readonly dest?: string;
  readonly syscall?: string;
  readonly address?: string;
  readonly port?: number;
}

/** What the operating system refused, in our words; undefined for any other error. */
export function systemError(error: unknown): LudusError | undefined {
  if (!isSystemError(error)) return undefined;
  const known = Object.hasOwn(explanations, error.code) ? explanations[error.code] : undefined;
  if (known === undefined) return undefined;
  const [expected, hint] = known;
  const address = error.address === undefined ? undefined : `${error.address}:${error.port ?? ""}`;
  const what = error.dest ?? error.path ?? address;
  const got = [error.code, what === undefined ? "" : ` at ${what}`, error.syscall ? ` (${error.syscall})` : ""].join(
    "",
  );
  return new LudusError("system-error", { got, expected, hint, cause: error });
}

function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && "code" in error && typeof error.code === "string" && "syscall" in error;
}

const explanations: Readonly<Record<string, readonly [expected: string, hint: string]>> = {
  EACCES: [
    "a file or folder that this user may use",
    "Check its permissions and those of the folders above it (ls -ld).",
  ],
  EPERM: ["something that this user may do", "Check the owner and the permissions (ls -ld)."],
  EROFS: ["a file system that can be written to", "It is mounted read-only: choose a folder elsewhere."],
  ENOENT: ["a file or folder that exists", "Is the path right, and does the folder above it exist?"],
  ENOTDIR: ["a folder", "A file is where a folder should be: choose another path, or move that file."],
  EISDIR: ["a file", "A folder is where a file should be: choose another path."],
  EEXIST: ["a path that is free", "Something is there already: choose another path, or move it."],
  ENOTEMPTY: ["an empty folder", "Choose another path, or empty it."],
  ENOSPC: ["room on the disk", "Free some space, or choose a folder on another disk."],
  EDQUOT: ["room within this user's quota", "Free some space, or choose a folder elsewhere."],
  EFBIG: ["a smaller file", "The file system or a limit (ulimit -f) does not allow files of this size."],
  ENAMETOOLONG: ["a shorter path", "File systems end names at some 255 bytes."],
  EMFILE: ["fewer open files", "Raise the limit: ulimit -n 4096."],
  EIO: ["a disk that reads and writes", "Check the disk."],
  ECONNREFUSED: ["a server that listens there", "Is it running, and is the address right?"],
};
