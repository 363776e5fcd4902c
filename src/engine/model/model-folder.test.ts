import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parameterShapes, tiny } from "./model-config.ts";
import { readModelFolder, type SavedSet, writeModelFolder } from "./model-folder.ts";
import type { NamedTensor, TensorSource } from "./safetensors.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-folder-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const config = tiny({ vocabularySize: 20, width: 16, headWidth: 8, layers: 1, contextLength: 32 });

/** The tensors of the model, each filled with one number. */
function filled(value: number): NamedTensor[] {
  return parameterShapes(config, { valueHead: false }).map(({ name, shape }) => ({
    name,
    shape,
    data: new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(value),
  }));
}

const sets: SavedSet<readonly NamedTensor[]>[] = [
  {
    name: "policy",
    version: 3,
    weights: filled(1),
    training: { firstMoments: filled(2), secondMoments: filled(3), steps: 5 },
  },
  { name: "a/b", version: 2, weights: filled(4) },
];

/** What a set of tensors was filled with. */
const firstNumber = (tensors: TensorSource) => tensors.tensor("model.norm.weight")[0];

test("every set comes back with its version and optimizer state", () => {
  const path = join(folder, "saved");
  writeModelFolder(path, { config, valueHead: false, sets });
  const saved = readModelFolder(path);
  expect(saved.config).toEqual(config);
  expect(saved.readSets(config, firstNumber)).toEqual([
    {
      isTrainable: true,
      name: "policy",
      version: 3,
      weights: 1,
      training: { firstMoments: 2, secondMoments: 3, steps: 5 },
    },
    { isTrainable: false, name: "a/b", version: 2, weights: 4 },
  ]);
});

test("names of sets cannot lead out of the folder", () => {
  const path = join(folder, "names");
  const [policy] = sets;
  writeModelFolder(path, { config, valueHead: false, sets: [policy, { ...sets[1], name: "../outside" }] });
  expect(readdirSync(folder)).not.toContain("outside");
  expect(readModelFolder(path).readSets(config, firstNumber)[1]).toMatchObject({ name: "../outside", weights: 4 });
});

test("a folder without ludus.json holds the policy alone, at version 0", () => {
  const path = join(folder, "foreign");
  writeModelFolder(path, { config, valueHead: true, sets });
  rmSync(join(path, "ludus.json"));
  const saved = readModelFolder(path);
  expect(saved.valueHead).toBe(false);
  expect(saved.readSets(config, firstNumber)).toEqual([{ isTrainable: true, name: "policy", version: 0, weights: 1 }]);
});

test("what differs from the wanted model is named", () => {
  const path = join(folder, "other");
  writeModelFolder(path, { config, valueHead: false, sets });
  const wanted = { ...config, layers: 2, normEpsilon: 1e-3 };
  expect(() => readModelFolder(path).readSets(wanted, firstNumber)).toThrow(/layers.*normEpsilon|normEpsilon.*layers/);
});

test("tensors are closed when reading one of them fails", () => {
  const path = join(folder, "closed");
  writeModelFolder(path, { config, valueHead: false, sets });
  let opened: TensorSource | undefined;
  const read = (tensors: TensorSource) => {
    opened = tensors;
    throw new Error("unreadable");
  };
  expect(() => readModelFolder(path).readSets(config, read)).toThrow("unreadable");
  expect(() => opened?.tensor("model.norm.weight")).toThrow("checkpoint-closed");
});

test("a damaged ludus.json is refused", () => {
  const path = join(folder, "damaged");
  writeModelFolder(path, { config, valueHead: false, sets });
  writeFileSync(join(path, "ludus.json"), '{"format": 2}');
  expect(() => readModelFolder(path)).toThrow("bad-model-folder");
});
