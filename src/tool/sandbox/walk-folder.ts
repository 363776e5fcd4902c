import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readlink } from "node:fs/promises";
import { isAbsolute, join, relative, sep } from "node:path";

/** A name in a folder that was opened. */
export interface Place {
  /** The folders above it, from the root, without links. */
  readonly names: readonly string[];
  /** `.` for the root itself. */
  readonly name: string;
  /** What to open, with O_NOFOLLOW. */
  readonly at: string;
}

export interface WalkOptions {
  /** The root's path for those who made the links. */
  readonly inside: string;
  /** Missing folders are made, and given to it; they are an error otherwise. */
  readonly made?: (folder: FileHandle) => Promise<void>;
}

/** A link that leads out of the folder, nowhere, or in circles. */
export class LinkRefused extends Error {}

const maxLinks = 40;
const oPath = 0o10000000;
// a folder that is held open cannot be swapped for a link: Linux reaches what lies in it through its descriptor
const holdsFolders = process.platform === "linux";

/** Finds `path` one name at a time, following links by itself. The place is good for as long as `use` runs. */
export async function walkFolder<Value>(
  root: string,
  path: string,
  { inside, made }: WalkOptions,
  use: (place: Place) => Promise<Value>,
): Promise<Value> {
  const held: Held[] = [await hold(root, root)];
  const names: string[] = [];
  const pending = path.split(sep).reverse();
  let links = 0;
  const leave = async () => {
    if (names.pop() === undefined) throw new LinkRefused("a link that leads out of the box");
    await held.pop()?.close();
  };
  try {
    for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
      if (name === "" || name === ".") continue;
      if (name === "..") {
        await leave();
        continue;
      }
      const at = join(held.at(-1)!.at, name);
      const target = await linkTarget(at);
      if (target !== undefined) {
        links += 1;
        if (links > maxLinks) throw new LinkRefused("links that lead in circles");
        if (isAbsolute(target)) while (names.length > 0) await leave();
        pending.push(...below(target, inside).split(sep).reverse());
      } else if (pending.every((each) => each === "" || each === ".")) {
        return await use({ names, name, at });
      } else {
        held.push(await enter(at, join(held.at(-1)!.path, name), made));
        names.push(name);
      }
    }
    return await use({ names, name: ".", at: held.at(-1)!.at });
  } catch (error) {
    throw links > 0 && codeOf(error) === "ENOENT" ? new LinkRefused("a link that leads nowhere") : error;
  } finally {
    await Promise.all(held.map((folder) => folder.close()));
  }
}

interface Held {
  readonly path: string;
  /** What to put before a name in it. */
  readonly at: string;
  close(): Promise<void>;
}

async function hold(at: string, path: string, made?: WalkOptions["made"]): Promise<Held> {
  const flags = constants.O_DIRECTORY | constants.O_NOFOLLOW;
  const opened = await open(at, flags | (holdsFolders && made === undefined ? oPath : constants.O_RDONLY));
  await made?.(opened);
  if (holdsFolders) return { path, at: `/proc/self/fd/${opened.fd}`, close: () => opened.close() };
  await opened.close();
  return { path, at: path, close: async () => {} };
}

async function enter(at: string, path: string, made: WalkOptions["made"]): Promise<Held> {
  try {
    return await hold(at, path);
  } catch (error) {
    if (made === undefined || codeOf(error) !== "ENOENT") throw error;
  }
  await mkdir(at);
  return await hold(at, path, made);
}

/** Undefined for what is no link, or not there. */
async function linkTarget(at: string): Promise<string | undefined> {
  try {
    return await readlink(at);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EINVAL" || code === "ENOENT") return undefined;
    throw error;
  }
}

function below(target: string, inside: string): string {
  if (!isAbsolute(target)) return target;
  const rest = relative(inside, target);
  if (rest === ".." || rest.startsWith(`..${sep}`)) throw new LinkRefused("a link that leads out of the box");
  return rest;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
