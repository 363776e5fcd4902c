import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { imitation } from "../loss/imitation.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { remains } from "./fixtures/kill-and-resume.ts";
import { letters } from "./fixtures/letters.ts";
import { tinyPolicy } from "./fixtures/tiny-policy.ts";
import { grpo } from "./presets/grpo.ts";
import type { TrainConfig } from "./train.ts";
import { train } from "./train-sync.ts";
import { type ImitateOptions, imitate } from "./warm-start.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-warm-cache-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const path = (name: string) => join(folder, name);
const entries = () => readdirSync(path("cache"));

async function trained(run: string, imitated: Partial<ImitateOptions> = {}, config: Partial<TrainConfig> = {}) {
  const events: RunEvent[] = [];
  const { policy } = await train({
    env: letters({ turns: 1 }),
    policy: tinyPolicy(),
    algorithm: grpo({ groupSize: 2, uniformGroups: "keep" }),
    steps: 1,
    tasksPerStep: 2,
    eval: { tasks: 4 },
    ...config,
    run: path(run),
    warmStart: imitate({
      demonstrations: 8,
      steps: 3,
      batchSize: 4,
      learningRate: 1e-2,
      cache: path("cache"),
      ...imitated,
    }),
    monitors: [{ name: "test", record: (event) => void events.push(event) }],
  });
  await policy.engine.close();
  const phase = events.find((event) => event.type === "phase-start" && event.phase === "imitate");
  const warnings = events.flatMap((event) => (event.type === "warning" ? [event.message] : []));
  return { reusedFrom: phase?.type === "phase-start" ? phase.reusedFrom : undefined, warnings };
}

test("the same warm start is made once, and a run that loads it is the same bit for bit", async () => {
  expect(await trained("never", { cache: false })).toEqual({ reusedFrom: undefined, warnings: [] });
  expect(await trained("made")).toEqual({ reusedFrom: undefined, warnings: [] });
  const [entry] = entries();
  expect(await trained("loaded")).toEqual({ reusedFrom: join(path("cache"), entry), warnings: [] });
  expect(entries()).toEqual([entry]);
  const [never, made, loaded] = await Promise.all(["never", "made", "loaded"].map((run) => remains(path(run))));
  expect(made).toEqual(never);
  // a run that loaded it has only the checkpoints from the end of the warm start on
  const { checkpoints, ...rest } = loaded;
  expect({ ...rest, checkpoints }).toEqual({ ...never, checkpoints });
  const last = Object.entries(never.checkpoints as object).filter(([name]) => name.startsWith("step-000003"));
  expect(last.length).toBeGreaterThan(3);
  expect(checkpoints).toMatchObject(Object.fromEntries(last));
}, 60_000);

test("anything that changes it makes another", async () => {
  await trained("base");
  const others: [string, Partial<ImitateOptions>, Partial<TrainConfig>?][] = [
    ["learning rate", { learningRate: 2e-2 }],
    ["demonstrations", { demonstrations: 9 }],
    ["seed", {}, { seed: 1 }],
    ["model", {}, { policy: tinyPolicy({ width: 64 }) }],
    ["environment", {}, { env: letters({ turns: 1, alphabet: "a" }) }],
  ];
  for (const [name, imitated, config] of others) {
    expect((await trained(name, imitated, config)).reusedFrom, name).toBeUndefined();
  }
  expect(entries()).toHaveLength(1 + others.length);
  // what learning from experience does is no part of it
  const algorithm = grpo({ groupSize: 4, uniformGroups: "keep", learningRate: 1e-5 });
  expect((await trained("other-algorithm", {}, { algorithm, steps: 2 })).reusedFrom).toBeDefined();
}, 90_000);

test("one that is damaged is made again", async () => {
  await trained("base");
  const [entry] = entries();
  truncateSync(join(path("cache"), entry, "weights", "model.safetensors"), 100);
  expect(await trained("again")).toEqual({ reusedFrom: undefined, warnings: [] });
  expect((await trained("third")).reusedFrom).toBe(join(path("cache"), entry));
}, 60_000);

test("a cache that cannot be written costs a warning, not the run", async () => {
  writeFileSync(path("cache"), "a file where a folder should be");
  const { warnings } = await trained("base");
  expect(warnings).toEqual([expect.stringMatching(/^the warm start is not cached: E(EXIST|NOTDIR)/)]);
  expect(readFileSync(path("cache"), "utf8")).toContain("a file");
});

test("a loss of one's own is not cached", () => {
  expect(imitate({ loss: imitation() }).cache).toBe(false);
  expect(() => imitate({ loss: imitation(), cache: "x" })).toThrow(/^bad-config: .*told apart/);
});
