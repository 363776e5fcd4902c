import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { fakeTask, fakeTrajectory } from "../schema/fake-trajectory.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import { memoryRuns, type RunCatalog } from "../store/index.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { RunRecorder } from "./run-recorder.ts";

let checkpoints: string;
beforeEach(() => {
  checkpoints = mkdtempSync(join(tmpdir(), "ludus-recorder-"));
});
afterEach(() => rmSync(checkpoints, { recursive: true }));

/** Of the place in a step that a run which rolls out ahead gives it. */
function groupOf(slot: string): TrajectoryGroup {
  const rng = createRng(slot.length);
  return {
    task: fakeTask(rng, slot),
    trajectories: [0, 1].map((i) => fakeTrajectory(rng, { id: `${slot}/${i}`, rollout: `${slot}/${i}`, taskId: slot })),
  };
}

/** Runs whose writer dies after so many writes: what it wrote before stays. */
function dying(runs: RunCatalog, writesLeft: number): RunCatalog {
  return {
    ...runs,
    checkpointDirectory: () => checkpoints,
    async openForWriting(id, options) {
      const store = await runs.openForWriting(id, options);
      let left = writesLeft;
      const spend = async (write: () => Promise<void>) => {
        if (left-- <= 0) throw new Error("killed");
        return write();
      };
      return {
        ...store,
        append: (step, writes) => spend(() => store.append(step, writes)),
        truncateAfter: (step) => spend(() => store.truncateAfter(step)),
      };
    },
  };
}

type Recover = (recorder: RunRecorder) => Promise<readonly TrajectoryGroup[]>;

/** Opens the run again and again, each time killed one write later, until it comes through. Returns how often it was killed. */
async function killAtEveryWrite(runs: RunCatalog, recover: Recover, expected: readonly string[]): Promise<number> {
  for (let writes = 0; ; writes++) {
    const recorder = await RunRecorder.open({ run: "killed", store: dying(runs, writes) }, 10);
    try {
      const groups = await recover(recorder);
      expect(groups.map(({ task }) => task.id)).toEqual(expected);
      return writes;
    } catch (error) {
      expect(error).toMatchObject({ message: "killed" });
    } finally {
      await recorder.close();
    }
  }
}

const config = { configVersion: 2 };
const [waits, taken] = ["step-1/0", "step-0/0"];

async function unfinished(runs: RunCatalog, save: boolean): Promise<void> {
  const recorder = await RunRecorder.open({ run: "killed", store: dying(runs, 1000) }, 10);
  await recorder.begin(config, true);
  if (save) {
    await recorder.record(0, { metrics: {}, groups: [], state: {} });
    await recorder.save(fakePolicy().engine);
  }
  for (const slot of [taken, waits]) await recorder.buffer(groupOf(slot));
  const used = [groupOf(taken)];
  await recorder.record(save ? 1 : 0, { metrics: {}, groups: used, state: {}, unbuffer: [`${taken}/0`] });
  await recorder.close();
}

test("a run without a checkpoint keeps its finished groups, whichever write of its beginning it is killed at", async () => {
  const runs = memoryRuns();
  await unfinished(runs, false);
  const begin: Recover = (recorder) => recorder.begin(config, true);
  expect(await killAtEveryWrite(runs, begin, [taken, waits])).toBe(1);
});

test("a resumed run keeps its finished groups, whichever write of its resumption it is killed at", async () => {
  const runs = memoryRuns();
  await unfinished(runs, true);
  const engine = fakePolicy().engine;
  const resume: Recover = async (recorder) => (await recorder.resume(engine, config, [], true))!.buffered;
  expect(await killAtEveryWrite(runs, resume, [taken, waits])).toBe(1);
});
