import { createHash } from "node:crypto";
import { createReadStream, existsSync } from "node:fs";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { errorText, LudusError } from "../../errors.ts";
import { type HubAccess, type HubFile, type HubModel, hubFetch } from "./hub-api.ts";

export interface DownloadOptions extends HubAccess {
  /** Is told the bytes as they come. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
  readonly sleep?: ((ms: number) => Promise<unknown>) | undefined;
}

/** After the first try, where a connection breaks. */
const retries = 4;

/**
 * Downloads a file to `target`, whole and with the right hash, or not at all. What came before a connection broke lies beside it as
 * `.incomplete` and is gone on from, in this process or in a later one.
 */
export async function downloadFile(
  model: HubModel,
  file: HubFile,
  target: string,
  options: DownloadOptions,
): Promise<void> {
  if (existsSync(target)) return;
  await mkdir(dirname(target), { recursive: true });
  const partial = `${target}.incomplete`;
  for (let tried = 0; ; tried++) {
    try {
      await fetchRest(model, file, partial, options);
      break;
    } catch (error) {
      // what the hub refuses, it refuses again
      if (error instanceof LudusError && error.code !== "hub-unreachable") throw error;
      if (isDiskError(error)) throw diskError(file, partial, error);
      if (tried >= retries) throw broken(model, file, partial, error);
      await (options.sleep ?? wait)(500 * 2 ** tried);
    }
  }
  const found = await hashOf(partial, file);
  if (found !== file.hash) {
    await rm(partial);
    throw new LudusError("hub-hash-mismatch", {
      got: `${file.name} of ${model.name} with hash ${found}`,
      expected: file.hash,
      hint: "The download was removed. Try again; if it happens twice, something between here and the hub changes files.",
    });
  }
  await rename(partial, target);
}

async function fetchRest(model: HubModel, file: HubFile, partial: string, options: DownloadOptions): Promise<void> {
  const here = await stat(partial).then(
    ({ size }) => size,
    () => 0,
  );
  if (here === file.size && here > 0) return;
  const start = here < file.size ? here : 0;
  const path = `/${model.name}/resolve/${model.commit}/${file.name.split("/").map(encodeURIComponent).join("/")}`;
  const headers: Record<string, string> = start > 0 ? { range: `bytes=${start}-` } : {};
  const response = await hubFetch(path, model.name, options, headers);
  const isRest = response.status === 206;
  const handle = await open(partial, isRest ? "a" : "w");
  try {
    let size = isRest ? start : 0;
    if (isRest) options.onBytes?.(start);
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > file.size) throw tooLong(model, file);
      await handle.writeFile(chunk);
      options.onBytes?.(chunk.length);
    }
    await handle.sync();
    if (size < file.size) throw new Error(`the connection ended after ${size} of ${file.size} bytes`);
  } finally {
    await handle.close();
  }
}

/** As the hub hashes it: SHA-256 of large files, git's SHA-1 of a blob for the others. */
async function hashOf(path: string, file: HubFile): Promise<string> {
  const hash = file.hash.length === 64 ? createHash("sha256") : createHash("sha1").update(`blob ${file.size}\0`);
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

function tooLong(model: HubModel, file: HubFile): LudusError {
  return new LudusError("hub-hash-mismatch", {
    got: `more than ${file.size} bytes of ${file.name} of ${model.name}`,
    expected: "the size that the hub said",
  });
}

function broken(model: HubModel, file: HubFile, partial: string, cause: unknown): LudusError {
  return new LudusError("hub-unreachable", {
    got: `${file.name} of ${model.name} in ${retries + 1} tries, the last: ${errorText(cause)}`,
    expected: `${file.size} bytes`,
    hint: `Try again: it goes on from what is in ${partial}.`,
    cause,
  });
}

function isDiskError(error: unknown): error is NodeJS.ErrnoException {
  return (
    error instanceof Error && "code" in error && ["ENOSPC", "EDQUOT", "EROFS", "EACCES"].includes(String(error.code))
  );
}

function diskError(file: HubFile, partial: string, cause: NodeJS.ErrnoException): LudusError {
  return new LudusError("hub-cannot-write", {
    got: `${cause.message} while writing ${partial}`,
    expected: `room for ${file.size} bytes that may be written`,
    hint: "Free some, or set HF_HUB_CACHE to a folder with room.",
    cause,
  });
}
