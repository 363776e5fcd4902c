import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findPython, isOlder } from "./find-python.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-python-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const complete = {
  torch: "2.11.0+cu128",
  transformers: "5.17.0",
  safetensors: "0.6",
  numpy: "2.1",
  grpcio: "1.75",
  protobuf: "6.1",
};

/** Answers as the script in find-python.ts would. */
function fakePython(found: Record<string, string>, { python = "3.12.1", worker = true } = {}): string {
  const path = join(folder, "python");
  writeFileSync(path, `#!/bin/sh\necho '${JSON.stringify({ python, found, worker })}'\n`);
  chmodSync(path, 0o755);
  return path;
}

test("a Python with everything is taken", () => {
  const python = fakePython(complete);
  expect(findPython(python, false).python).toBe(python);
});

test("what is missing or too old is named with the command that installs it", () => {
  const { grpcio: _, ...rest } = complete;
  const python = fakePython({ ...rest, torch: "2.4.1" });
  expect(() => findPython(python, true)).toThrow(
    `python-packages: got ${python} with torch 2.4.1, no grpcio, no peft, expected torch 2.7 or newer, grpcio 1.60 or newer, ` +
      `peft 0.17 or newer. Run: ${python} -m pip install "torch>=2.7" "grpcio>=1.60" "peft>=0.17".`,
  );
  expect(() => findPython(fakePython(complete, { worker: false }), false)).toThrow("pip install ./worker");
});

test("a Python that does not run, or is too old, is refused", () => {
  expect(() => findPython(join(folder, "nothing"), false)).toThrow("python-not-found");
  expect(() => findPython(fakePython(complete, { python: "3.9.2" }), false)).toThrow("python-too-old");
});

test("versions compare by number", () => {
  expect(isOlder("2.13.0+cpu", "2.7")).toBe(false);
  expect(isOlder("2.6.9", "2.7")).toBe(true);
  expect(isOlder("5", "5.0")).toBe(false);
});
