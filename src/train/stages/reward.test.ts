import { describe, expect, test } from "vitest";
import type { ComparedGroup, GroupReward } from "../../reward/group-reward.ts";
import { letters } from "../fixtures/letters.ts";
import { contextOf } from "../fixtures/step-context.ts";
import { pick } from "./pick.ts";
import { rewardStage } from "./reward.ts";
import { rollOut } from "./roll-out.ts";

async function groupWith(groupReward: GroupReward | undefined) {
  const context = contextOf(letters(), groupReward === undefined ? {} : { groupReward });
  const leases = await pick(context, 1);
  for await (const { group } of rollOut(context, { leases, offset: 0, reward: rewardStage(context) })) return group;
  throw new Error("no group");
}

describe("group rewards", () => {
  test("are added to what the environment gave, as parts", async () => {
    const seen: ComparedGroup[] = [];
    const alone = await groupWith(undefined);
    const group = await groupWith((compared) => {
      seen.push(compared);
      return compared.attempts.map((_, index) => ({ parts: { judge: index / 10 } }));
    });
    expect(seen).toHaveLength(1);
    expect(seen[0].id).toBe("step-0/0");
    expect(seen[0].attempts).toHaveLength(4);
    expect(seen[0].attempts[0].turns.length).toBeGreaterThan(0);
    for (const [index, { score, success }] of group.trajectories
      .map(({ score }) => ({ score, success: score.success }))
      .entries()) {
      const own = alone.trajectories[index].score;
      expect(score.total).toBeCloseTo(own.total + index / 10, 12);
      expect(score.parts).toEqual({ ...own.parts, judge: index / 10 });
      expect(success).toBe(own.success);
    }
    expect(group.rollouts.flatMap(({ trajectories }) => trajectories)).toEqual(group.trajectories);
  });

  test("may say what a success is", async () => {
    const group = await groupWith(({ attempts }) => attempts.map(() => ({ parts: {}, success: true })));
    expect(group.trajectories.every(({ score }) => score.success)).toBe(true);
  });

  test.each<[string, GroupReward, string]>([
    ["throws", () => Promise.reject(new Error("judge is down")), "judge is down"],
    ["gives too few", () => [], "4 scores"],
    ["gives no numbers", ({ attempts }) => attempts.map(() => ({ parts: { judge: Number.NaN } })), "finite"],
  ])("one that %s is a failure of its group, with the text", async (_, groupReward, text) => {
    const { rollouts, trajectories } = await groupWith(groupReward);
    for (const { stop, failure } of [...rollouts, ...trajectories]) {
      expect(stop).toBe("env-crash");
      expect(failure).toContain(text);
    }
  });
});
