import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parameterShapes, tiny } from "./model-config.ts";
import { readModelFolder, type SavedSet, writeModelFolder } from "./model-folder.ts";
import { type NamedTensor, type TensorSource, writeSafetensors } from "./safetensors.ts";

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

test("a folder of an earlier version, with everything at the top, is read the same", () => {
  const path = join(folder, "earlier");
  const head = { name: "value_head.weight", shape: [1, 16], data: new Float32Array(16).fill(7) };
  const withHead = [{ ...sets[0], weights: [...filled(1), head] }, sets[1]];
  writeModelFolder(path, { config, valueHead: true, sets: withHead });
  const readBoth = (tensors: TensorSource) => [firstNumber(tensors), tensors.tensors.get("value_head.weight")?.shape];
  const now = readModelFolder(path).readSets(config, readBoth);
  expect(now[0].weights).toEqual([1, [1, 16]]);
  for (const name of readdirSync(join(path, "training"))) renameSync(join(path, "training", name), join(path, name));
  rmSync(join(path, "training"), { recursive: true });
  rmSync(join(path, "value_head.safetensors"));
  writeSafetensors(join(path, "model.safetensors"), withHead[0].weights);
  expect(readModelFolder(path).readSets(config, readBoth)).toEqual(now);
});

test("names of sets cannot lead out of the folder", () => {
  const path = join(folder, "names");
  const [policy] = sets;
  writeModelFolder(path, { config, valueHead: false, sets: [policy, { ...sets[1], name: "../outside" }] });
  expect(readdirSync(folder)).not.toContain("outside");
  expect(readModelFolder(path).readSets(config, firstNumber)[1]).toMatchObject({ name: "../outside", weights: 4 });
});

test("a folder without training state holds the policy alone, at version 0", () => {
  const path = join(folder, "foreign");
  writeModelFolder(path, { config, valueHead: true, sets });
  rmSync(join(path, "training"), { recursive: true });
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
  writeFileSync(join(path, "training", "ludus.json"), '{"format": 2}');
  expect(() => readModelFolder(path)).toThrow("bad-model-folder");
});
