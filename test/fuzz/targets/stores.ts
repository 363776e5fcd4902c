import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { createRng, type Rng } from "../../../src/random.ts";
import { fakeTask, fakeTrajectory } from "../../../src/schema/fake-trajectory.ts";
import { makeTrajectory, makeTrajectoryGroup, type Trajectory } from "../../../src/schema/index.ts";
import { memoryRuns, type RunStore, sqliteRuns } from "../../../src/store/index.ts";
import { hostileText, jsonObject, pick } from "../hostile-text.ts";
import { allowRefusalAsync, check } from "../refusal.ts";
import type { FuzzTarget } from "../target.ts";

interface Input {
  readonly store: string;
  readonly seed: number;
  readonly texts: readonly string[];
  readonly arguments: readonly Record<string, unknown>[];
  readonly search: string;
}

const opened = new Map<string, Promise<RunStore>>();
let folder: string | undefined;
let step = 0;

async function open(name: string): Promise<RunStore> {
  folder ??= await mkdtemp(join(tmpdir(), "ludus-fuzz-"));
  const runs = name === "sqlite" ? sqliteRuns(folder) : memoryRuns({ checkpoints: folder });
  return runs.openForWriting("fuzz", { now: () => 0 });
}

/** Trajectories with any text in them: stored, read as they were, searched for. */
export const storesTarget: FuzzTarget<Input> = {
  name: "stores",
  generate(rng) {
    return {
      store: pick(rng, ["sqlite", "memory"]),
      seed: rng.integer(2 ** 31),
      texts: Array.from({ length: 6 }, () => hostileText(rng, 4_000)),
      arguments: Array.from({ length: 3 }, () => jsonObject(rng, 20)),
      search: hostileText(rng, 30),
    };
  },
  async run({ store: name, seed, texts, arguments: given, search }) {
    const pending = opened.get(name) ?? open(name);
    opened.set(name, pending);
    const store = await pending;
    const rng = createRng(seed);
    const trajectory = spoiled(rng, texts, given);
    const task = fakeTask(rng, trajectory.taskId);
    const group = makeTrajectoryGroup(task, [trajectory]);
    const stored = await allowRefusalAsync(async () => {
      await store.append(step, { groups: [{ group, split: "train" }] });
      return true;
    });
    if (stored !== true) return;
    const steps = { from: step, to: step };
    const { trajectories } = await store.trajectories({ steps }, { limit: 1 });
    const read = await store.trajectory(trajectories[0].key);
    check(isDeepStrictEqual(read.trajectory, trajectory), "a stored trajectory is read as it was");
    for (const filter of [{ text: search }, { tool: search }, { role: search }]) {
      await allowRefusalAsync(() => store.trajectories({ steps, ...filter }, { limit: 5 }));
    }
    step++;
  },
  async close() {
    for (const store of opened.values()) await (await store).close();
    if (folder !== undefined) await rm(folder, { recursive: true });
  },
};

function spoiled(rng: Rng, texts: readonly string[], given: readonly Record<string, unknown>[]): Trajectory {
  const plain = fakeTrajectory(rng, {}, { turns: 3 });
  const turns = plain.turns.map((turn, index) => ({
    ...turn,
    text: texts[index % texts.length],
    observation: texts[(index + 1) % texts.length],
    calls: given.map((args, place) => ({
      name: texts[(index + place) % texts.length].slice(0, 60),
      arguments: args,
      outcome: "ok" as const,
      observation: texts[(index + place + 2) % texts.length],
    })),
  }));
  return makeTrajectory({ ...plain, turns, ...(plain.failure === undefined ? {} : { failure: texts[0] }) });
}
