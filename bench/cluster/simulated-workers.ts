// A process with many workers, each with a connection of its own: what as many processes of `ludus worker` do to the server.
// Playing is waiting; the result is that of a real group.

import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { postgresQueue } from "../../src/queue/postgres-queue.ts";
import { createRng } from "../../src/random.ts";
import { encodeResult } from "../../src/rollout/remote/job.ts";
import { fakeTask, fakeTrajectory } from "../../src/schema/fake-trajectory.ts";

const { values } = parseArgs({
  options: {
    connect: { type: "string" },
    workers: { type: "string" },
    first: { type: "string" },
    playMs: { type: "string" },
  },
});
const { connect = "", workers = "25", first = "0", playMs = "50" } = values;

const groupSize = 8;
const stop = new AbortController();
process.on("disconnect", () => stop.abort());
process.on("message", () => stop.abort());

async function work(number: number): Promise<number> {
  const rng = createRng(number);
  const task = fakeTask(rng, "task");
  const rollouts = Array.from({ length: groupSize }, (_, i) => ({
    id: `rollout/${i}`,
    task,
    trajectories: [fakeTrajectory(rng, {}, { turns: 4 })],
    stop: "completed" as const,
    timing: { sampleMs: 1, totalMs: 1 },
  }));
  const result = encodeResult(rollouts);
  const queue = await postgresQueue(connect, { maxConnections: 1 });
  let groups = 0;
  while (!stop.signal.aborted) {
    const [job] = await queue.take(`worker-${number}`, { worlds: ["bench"], count: 1, leaseMs: 30_000 });
    if (job === undefined) {
      await setTimeout(50);
      continue;
    }
    // as log-normal as the lengths of episodes
    await setTimeout(Number(playMs) * Math.exp(0.5 * normal(rng.next(), rng.next())));
    if (await queue.finish(job, result)) groups++;
  }
  await queue.close();
  return groups;
}

function normal(a: number, b: number): number {
  return Math.sqrt(-2 * Math.log(1 - a)) * Math.cos(2 * Math.PI * b);
}

const counts = await Promise.all(Array.from({ length: Number(workers) }, (_, i) => work(Number(first) + i)));
process.send?.({ groups: counts.reduce((sum, count) => sum + count, 0) });
process.disconnect?.();
