import { cpSync } from "node:fs";
import { createRng } from "../../random.ts";
import { openPolicy, writePolicy } from "../model/model-folder.ts";

function readAll(directory: string): Map<string, Float32Array> {
  const source = openPolicy(directory);
  const all = new Map([...source.tensors.keys()].map((name) => [name, source.tensor(name)]));
  source.close();
  return all;
}

/** Weights of one checkpoint minus those of another. */
export function checkpointDifference(before: string, after: string): Map<string, Float64Array> {
  const end = readAll(after);
  return new Map(
    [...readAll(before)].map(([name, values]) => [
      name,
      Float64Array.from(values, (value, i) => value - end.get(name)![i]),
    ]),
  );
}

/** Copies a checkpoint with all weights moved by `size` along a random direction, which is returned. */
export function perturbCheckpoint(
  from: string,
  to: string,
  { seed, size }: { seed: number; size: number },
): Map<string, Float64Array> {
  cpSync(from, to, { recursive: true });
  const rng = createRng(seed);
  const direction = new Map<string, Float64Array>();
  const source = openPolicy(from);
  const moved = [...source.tensors].map(([name, { shape }]) => {
    const values = source.tensor(name);
    const steps = Float64Array.from(values, () => rng.normal());
    direction.set(name, steps);
    return { name, shape, data: values.map((value, i) => value + size * steps[i]) };
  });
  source.close();
  writePolicy(to, moved);
  return direction;
}
