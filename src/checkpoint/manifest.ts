import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join, relative, sep } from "node:path";
import { crc32 } from "node:zlib";
import { z } from "zod";
import { trainingFolder } from "../engine/model/model-folder.ts";

/** How long each file of a checkpoint is and its checksum, so that what a disk has lost is not trained on. */
const manifestFile = "checkpoint.json";
const Manifest = z.object({
  format: z.literal(1),
  files: z.record(z.string(), z.object({ bytes: z.int(), crc32: z.int() })),
});

export function writeManifest(directory: string): void {
  const files = Object.fromEntries(filesIn(directory).map((name) => [name, describe(join(directory, name))]));
  const manifest: z.infer<typeof Manifest> = { format: 1, files };
  mkdirSync(join(directory, trainingFolder), { recursive: true });
  writeFileSync(join(directory, trainingFolder, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`, {
    flush: true,
  });
}

/** Paths of the files in a folder and its subfolders, with `/` on every system. */
function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .sort();
}

/** Throws, in words, when a file is not as it was written. `sizes` alone are quick, whatever the size. */
export function checkManifest(directory: string, what: "bytes" | "sizes" = "bytes"): void {
  // earlier versions wrote it at the top
  const older = join(directory, manifestFile);
  const path = existsSync(older) ? older : join(directory, trainingFolder, manifestFile);
  const { files } = Manifest.parse(JSON.parse(readFileSync(path, "utf8")));
  for (const [name, expected] of Object.entries(files)) {
    const path = join(directory, name);
    const bytes = statSync(path, { throwIfNoEntry: false })?.size;
    if (bytes === undefined) throw new Error(`${name} is missing`);
    if (bytes !== expected.bytes) throw new Error(`${name} has ${bytes} bytes instead of ${expected.bytes}`);
    if (what === "bytes" && describe(path).crc32 !== expected.crc32)
      throw new Error(`${name} has other bytes than were written`);
  }
}

const chunkBytes = 1 << 22;

function describe(path: string): { bytes: number; crc32: number } {
  const file = openSync(path, "r");
  const chunk = new Uint8Array(chunkBytes);
  try {
    let [bytes, sum] = [0, 0];
    for (;;) {
      const read = readSync(file, chunk, 0, chunkBytes, null);
      if (read === 0) return { bytes, crc32: sum };
      sum = crc32(chunk.subarray(0, read), sum);
      bytes += read;
    }
  } finally {
    closeSync(file);
  }
}
