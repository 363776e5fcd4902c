import { createHash } from "node:crypto";
import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";

const weightFile = /^(model|adapter_model)[^/]*\.safetensors$/;
const chunkBytes = 1 << 22;

/** SHA-256 of the policy's weights in a checkpoint: the same weights have the same hash, whatever the optimizer's state. */
export function weightsHash(directory: string): string {
  const files = filesIn(directory);
  const weights = files.filter((name) => weightFile.test(name));
  return hashFiles(directory, weights.length > 0 ? weights : files);
}

/** SHA-256 of everything in a folder, names included. */
export function folderHash(directory: string): string {
  return hashFiles(directory, filesIn(directory));
}

/** How much room a folder takes. */
export function bytesIn(directory: string): number {
  return filesIn(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
}

function filesIn(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.map((path) => path.slice(directory.length + 1)).sort();
}

function hashFiles(directory: string, names: readonly string[]): string {
  const hash = createHash("sha256");
  const chunk = new Uint8Array(chunkBytes);
  for (const name of names) {
    hash.update(`${name}\n`);
    const file = openSync(join(directory, name), "r");
    try {
      for (let read = readSync(file, chunk); read > 0; read = readSync(file, chunk))
        hash.update(chunk.subarray(0, read));
    } finally {
      closeSync(file);
    }
  }
  return hash.digest("hex");
}
