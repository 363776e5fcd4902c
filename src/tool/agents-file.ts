import { existsSync, statSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { bounds } from "../bounds.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../known-options.ts";
import { readInside, textOf } from "./read-inside.ts";
import type { Box } from "./sandbox/sandbox.ts";

/** What AGENTS.md files say about a path. */
export interface AgentsFile {
  /** For a prompt; empty where there is no file. */
  readonly text: string;
  /** The files in the text, the nearest last. Paths are relative to the root, with `/`. */
  readonly sources: readonly { readonly path: string; readonly text: string }[];
}

export interface AgentsFileOptions {
  /** Where the search ends: no folder above it is looked at. Where absent, the nearest folder above with a `.git`, or that of the path. */
  root?: string;
  /** Files are those of the box, and the path is relative to its root, where the search ends. */
  box?: Box;
  /** `all` files from the root to the path (the default), or the `nearest` alone. */
  take?: "all" | "nearest";
}

const knownOptions: KnownOptions<AgentsFileOptions> = { root: true, box: true, take: true };
const fileName = "AGENTS.md";

/**
 * The AGENTS.md files for a path, a file or a folder: that of its folder and those of the folders above, up to the root. The nearest
 * one wins where they contradict each other, and what the user says wins over all of them.
 */
export async function agentsFile(path: string, options: AgentsFileOptions = {}): Promise<AgentsFile> {
  refuseUnknownOptions("agentsFile", options, knownOptions);
  const { root, box, take = "all" } = options;
  refuseOtherValue("agentsFile: take", take, ["all", "nearest"]);
  if (box !== undefined && root !== undefined) {
    throw new LudusError("option-without-effect", {
      got: 'agentsFile with "root", which has no effect with "box"',
      expected: 'agentsFile without "root"',
    });
  }
  const found = box === undefined ? await inFolder(path, root) : await inBox(path, box);
  const said = found.filter(({ text }) => text.trim() !== "");
  const sources = take === "nearest" ? said.slice(-1) : said;
  const bytes = sources.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0);
  if (bytes > bounds.agentsFileBytes) throw tooLong(sources.map((source) => source.path).join(", "), bytes);
  return { text: agentsText(sources), sources };
}

async function inFolder(path: string, givenRoot: string | undefined): Promise<AgentsFile["sources"]> {
  const at = resolve(path);
  const folder = isFolder(at) ? at : dirname(at);
  if (givenRoot !== undefined && !isFolder(givenRoot)) {
    throw new LudusError("bad-agents-file", { got: `no folder at ${givenRoot}`, expected: "`root`: a folder" });
  }
  const root = givenRoot === undefined ? repositoryOf(folder) : resolve(givenRoot);
  const way = relative(root, folder);
  if (way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way)) {
    throw new LudusError("bad-agents-file", { got: `${at}, outside of ${root}`, expected: "a path inside `root`" });
  }
  return await readAll(way.split(sep), (file) => readInside(root, file, bounds.agentsFileBytes), "file-missing");
}

async function inBox(path: string, box: Box): Promise<AgentsFile["sources"]> {
  const way = path.split("/");
  if (path.startsWith("/") || way.includes("..")) {
    throw new LudusError("bad-agents-file", { got: path, expected: "a path inside the box, relative to its root" });
  }
  const read = async (file: string) => textOf(file, await box.read(file));
  // refused is what is looked for below a file, as a box does not say what is a folder, and a link that leads out of the box
  return await readAll(way, read, "box-file-missing", "box-path-refused");
}

/** The files of the root and of each folder on the way from it. */
async function readAll(
  way: readonly string[],
  read: (file: string) => Promise<string>,
  ...missing: readonly string[]
): Promise<AgentsFile["sources"]> {
  const folders = way.filter((name) => name !== "" && name !== ".");
  const sources: { path: string; text: string }[] = [];
  for (let depth = 0; depth <= folders.length; depth++) {
    const path = [...folders.slice(0, depth), fileName].join("/");
    try {
      sources.push({ path, text: await read(path) });
    } catch (error) {
      if (!(error instanceof LudusError && missing.includes(error.code))) throw error;
    }
  }
  return sources;
}

const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

function repositoryOf(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (at === dirname(at)) return folder;
  }
}

/** What a prompt says of files, the nearest last. */
export function agentsText(sources: AgentsFile["sources"]): string {
  if (sources.length === 0) return "";
  const order =
    "Where they contradict each other, the last one counts; what the user says counts more than all of them.";
  const head = `Instructions of this project.${sources.length > 1 ? ` ${order}` : ""}`;
  return [head, ...sources.map(({ path, text }) => `# ${path}\n\n${text.trim()}`)].join("\n\n");
}

function tooLong(paths: string, bytes: number): LudusError {
  return new LudusError("bad-agents-file", {
    got: `${bytes} bytes in ${paths}`,
    expected: `at most ${bounds.agentsFileBytes} bytes`,
    hint: '`take: "nearest"` reads one file alone.',
  });
}
