import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { collect } from "./collect.ts";
import { fakeTrajectory } from "./fake-trajectory.ts";
import { textLines } from "./json-lines.ts";
import { readTrajectoryJsonl, writeTrajectoryJsonl } from "./trajectory-jsonl.ts";

const rng = createRng(1);
const trajectories = Array.from({ length: 20 }, () => fakeTrajectory(rng)).map((trajectory) => ({
  ...trajectory,
  turns: trajectory.turns.map((turn) => ({ ...turn, reward: turn.reward + 0 })), // JSON has no -0
}));

test("trajectories come back from their lines", async () => {
  const lines = textLines(writeTrajectoryJsonl(trajectories));
  expect(await collect(readTrajectoryJsonl(lines))).toEqual(trajectories);
});

test("a line that is no trajectory is named, or skipped and counted", async () => {
  const lines = await collect(writeTrajectoryJsonl(trajectories.slice(0, 2)));
  const damaged = [lines[0], lines[1].replace('"stop":"', '"stop":"not-'), "", lines[1].slice(0, -9), lines[1]];
  await expect(collect(readTrajectoryJsonl(damaged))).rejects.toThrow(/bad-line: got line 2: .*stop = "not-/);
  const reader = readTrajectoryJsonl(damaged, { badLines: "skip" });
  expect(await collect(reader)).toEqual(trajectories.slice(0, 2));
  expect(reader.skipped).toBe(2);
});
