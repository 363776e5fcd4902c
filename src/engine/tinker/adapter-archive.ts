import { writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { gunzipSync } from "node:zlib";
import { bounds } from "../../bounds.ts";
import { LudusError } from "../../errors.ts";

const blockBytes = 512;
const wanted = ["adapter_model.safetensors", "adapter_config.json"];

/** Writes the files of PEFT that are in a `.tar.gz`; whatever else is there, and wherever it wants to be, is left. */
export function unpackAdapter(archive: Uint8Array, directory: string, maxBytes: number = bounds.adapterBytes): void {
  const tar = unzipped(archive, maxBytes);
  const found = new Set<string>();
  for (let at = 0; at + blockBytes <= tar.length; ) {
    const header = tar.subarray(at, at + blockBytes);
    const name = basename(textOf(header.subarray(0, 100)));
    const size = Number.parseInt(textOf(header.subarray(124, 136)) || "0", 8);
    const start = at + blockBytes;
    if (!Number.isInteger(size) || size < 0 || start + size > tar.length) throw broken("an entry that is cut off");
    const isFile = header[156] === 0 || header[156] === 48;
    if (isFile && wanted.includes(name)) {
      writeFileSync(join(directory, name), tar.subarray(start, start + size));
      found.add(name);
    }
    at = start + Math.ceil(size / blockBytes) * blockBytes;
  }
  const missing = wanted.filter((name) => !found.has(name));
  if (missing.length > 0) throw broken(`an archive without ${missing.join(" and ")}`);
}

function unzipped(archive: Uint8Array, maxBytes: number): Uint8Array {
  try {
    return gunzipSync(archive, { maxOutputLength: maxBytes });
  } catch (cause) {
    if (cause instanceof RangeError) throw broken(`more than ${maxBytes} bytes, unpacked,`, cause);
    throw broken("bytes that are not gzip", cause);
  }
}

function textOf(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return Buffer.from(end < 0 ? bytes : bytes.subarray(0, end))
    .toString("utf8")
    .trim();
}

function broken(got: string, cause?: unknown): LudusError {
  return new LudusError("server-refused", {
    got: `${got} for an adapter`,
    expected: "a .tar.gz of PEFT's files",
    cause,
  });
}
