import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { mkdir, rename, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, relative } from "node:path";
import { defined } from "../../defined.ts";
import { errorText, LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { checkLanguageModel } from "../model/language-model.ts";
import { downloadFile } from "./download-file.ts";
import { askHub, type HubAccess, type HubModel } from "./hub-api.ts";

export interface HubOptions {
  /** A branch, tag or commit; `main` by default. */
  revision?: string;
  /** The hub's cache folder: `HF_HUB_CACHE`, `HF_HOME/hub` or `~/.cache/huggingface/hub` by default, shared with Python's tools. */
  cache?: string;
  /** `HF_ENDPOINT`, or https://huggingface.co. */
  endpoint?: string;
  /** For private and gated models; `HF_TOKEN` by default. */
  token?: string;
  /** Ask nobody: only what is in the cache. `HF_HUB_OFFLINE=1` by default. */
  offline?: boolean;
  /** Is told what is downloaded, line by line; standard error by default. */
  log?: (line: string) => void;
  sleep?: (ms: number) => Promise<unknown>;
}

export const hubOptions: KnownOptions<HubOptions> = {
  revision: true,
  cache: true,
  endpoint: true,
  token: true,
  offline: true,
  log: true,
  sleep: true,
};

/**
 * The folder of a model: the one that is named, or, for a name such as `Qwen/Qwen2.5-0.5B-Instruct`, that of the Hugging Face hub's
 * cache, downloaded where it is not there yet. Files are checked by their hashes; a download that was broken off goes on.
 */
export async function hubFolder(nameOrFolder: string, options: HubOptions = {}): Promise<string> {
  refuseUnknownOptions("hubFolder", options, hubOptions);
  if (isFolder(nameOrFolder)) return nameOrFolder;
  if (!/^[\w.-]+\/[\w.-]+$/.test(nameOrFolder) || /^\.{1,2}\/|\.\./.test(nameOrFolder)) {
    throw new LudusError("no-such-model", {
      got: `"${nameOrFolder}"`,
      expected: "a folder that exists, or the name of a model of the hub such as Qwen/Qwen2.5-0.5B-Instruct",
    });
  }
  const { revision = "main", log = (line) => process.stderr.write(`${line}\n`) } = options;
  const home = join(options.cache ?? defaultCache(), `models--${nameOrFolder.replace("/", "--")}`);
  const cached = cachedSnapshot(home, revision);
  if (options.offline ?? process.env.HF_HUB_OFFLINE === "1") {
    if (cached !== undefined) return cached;
    throw new LudusError("not-in-cache", {
      got: `${nameOrFolder} at ${revision}, offline`,
      expected: `a whole copy in ${home}`,
      hint: "Unset HF_HUB_OFFLINE to download it.",
    });
  }
  const access: HubAccess = {
    endpoint: options.endpoint ?? process.env.HF_ENDPOINT ?? "https://huggingface.co",
    token: options.token ?? (process.env.HF_TOKEN || undefined),
  };
  try {
    const model = await askHub(nameOrFolder, revision, access);
    return await download(model, revision, home, { ...access, log, ...defined({ sleep: options.sleep }) });
  } catch (error) {
    const isAway = error instanceof LudusError && error.code === "hub-unreachable";
    if (!isAway || cached === undefined) throw error;
    log(`${errorText(error)} Taking the copy in the cache: ${cached}`);
    return cached;
  }
}

type DownloadSettings = HubAccess & Pick<HubOptions, "sleep"> & { log: (line: string) => void };

async function download(model: HubModel, revision: string, home: string, settings: DownloadSettings): Promise<string> {
  const snapshot = join(home, "snapshots", model.commit);
  const missing = model.files.filter(({ name }) => !existsSync(join(snapshot, name)));
  const progress = new Progress(
    model.name,
    missing.reduce((sum, { size }) => sum + size, 0),
    settings.log,
  );
  // the configuration first: a model that cannot be trained here is refused before its weights are downloaded
  missing.sort((a, b) => Number(b.name === "config.json") - Number(a.name === "config.json") || a.size - b.size);
  for (const file of missing) {
    const blob = join(home, "blobs", file.hash);
    await downloadFile(model, file, blob, { ...settings, onBytes: (bytes) => progress.add(bytes) });
    await link(blob, join(snapshot, file.name));
    if (file.name === "config.json") checkLanguageModel(JSON.parse(readFileSync(blob, "utf8")));
  }
  await writeReference(home, revision, model.commit);
  if (missing.length > 0) settings.log(`${model.name} is in ${snapshot}`);
  return snapshot;
}

/** Points from the snapshot to the blob, as the hub's own tools have it. */
async function link(blob: string, path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await symlink(relative(dirname(path), blob), path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

async function writeReference(home: string, revision: string, commit: string): Promise<void> {
  if (revision === commit) return;
  const path = join(home, "refs", revision);
  await mkdir(dirname(path), { recursive: true });
  const partial = `${path}.${process.pid}.partial`;
  await writeFile(partial, commit);
  await rename(partial, path);
}

/** A copy in the cache that has all it needs. */
function cachedSnapshot(home: string, revision: string): string | undefined {
  const reference = join(home, "refs", revision);
  const commit = existsSync(reference) ? readFileSync(reference, "utf8").trim() : revision;
  const snapshot = join(home, "snapshots", commit);
  if (!isFolder(snapshot)) return undefined;
  const files = readdirSync(snapshot).filter((name) => existsSync(join(snapshot, name)));
  const isWhole = files.includes("config.json") && files.includes("tokenizer.json") && hasWeights(snapshot, files);
  return isWhole ? snapshot : undefined;
}

function hasWeights(snapshot: string, files: readonly string[]): boolean {
  const index = "model.safetensors.index.json";
  if (!files.includes(index)) return files.includes("model.safetensors");
  try {
    const { weight_map: map } = JSON.parse(readFileSync(join(snapshot, index), "utf8"));
    return Object.values(map as Record<string, string>).every((shard) => files.includes(shard));
  } catch {
    return false;
  }
}

function defaultCache(): string {
  const { HF_HUB_CACHE, HF_HOME } = process.env;
  return HF_HUB_CACHE || join(HF_HOME || join(homedir(), ".cache", "huggingface"), "hub");
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}

const tellMs = 2_000;

/** A line every two seconds. */
class Progress {
  readonly #name: string;
  readonly #total: number;
  readonly #log: (line: string) => void;
  #bytes = 0;
  #toldAt = performance.now();

  constructor(name: string, total: number, log: (line: string) => void) {
    this.#name = name;
    this.#total = total;
    this.#log = log;
    if (total > 0) log(`downloading ${name}: ${megabytes(total)} MB`);
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    if (performance.now() - this.#toldAt < tellMs) return;
    this.#toldAt = performance.now();
    this.#log(`${this.#name}: ${megabytes(this.#bytes)} of ${megabytes(this.#total)} MB`);
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(bytes < 1e8 ? 1 : 0);
}
