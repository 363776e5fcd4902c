import { createHash } from "node:crypto";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { FuzzFailure } from "./run-fuzz.ts";

const folder = join(import.meta.dirname, "../../fixtures/fuzz");

interface Fixture {
  readonly target: string;
  /** What it did when it was found. */
  readonly found: string;
  readonly input: unknown;
}

/** Keeps an input that failed, so that `npm test` tries it from now on. Returns the file. */
export function keepFixture({ target, error, input }: FuzzFailure): string {
  mkdirSync(folder, { recursive: true });
  const name = createHash("sha256").update(JSON.stringify(input)).digest("hex").slice(0, 10);
  const file = join(folder, `${target}-${name}.json`);
  const fixture: Fixture = { target, found: error.split("\n", 1)[0].slice(0, 300), input };
  writeFileSync(file, `${JSON.stringify(fixture, null, 1)}\n`);
  return file;
}

/** Inputs that failed once, by target. */
export function readFixtures(): Record<string, unknown[]> {
  const inputs: Record<string, unknown[]> = {};
  for (const file of globSync("*.json", { cwd: folder }).sort()) {
    const { target, input } = JSON.parse(readFileSync(join(folder, file), "utf8")) as Fixture;
    inputs[target] = [...(inputs[target] ?? []), input];
  }
  return inputs;
}
