import { describe, expect, test } from "vitest";
import { createRng } from "../../../random.ts";
import { fakeTrajectory } from "../../../schema/fake-trajectory.ts";
import { metric } from "../../../schema/metric-names.ts";
import type { Trajectory } from "../../../schema/trajectory.ts";
import type { RunView } from "../detector.ts";
import { diagnoseFully } from "../diagnose.ts";
import { failuresOutsideStatistics } from "./failures-outside-statistics.ts";
import { logprobsRecomputed } from "./logprobs-recomputed.ts";
import { maskCoversSampled } from "./mask-covers-sampled.ts";
import { rolloutWeighsOne } from "./rollout-weighs-one.ts";

const rng = createRng(3);
const fake = (fields: Partial<Trajectory> = {}) => fakeTrajectory(rng, { stop: "completed", ...fields });
const scored = (total: number, fields: Partial<Trajectory> = {}) =>
  fake({ score: { total, parts: {}, success: total >= 1 }, ...fields });
/** One that speaks. */
const spoken = (): Trajectory => {
  const made = fake();
  return made.turns.length > 0 ? made : spoken();
};

function viewOf(trajectories: readonly Trajectory[], more: Partial<RunView> = {}): RunView {
  const groups = [{ step: 7, task: { id: "task-0", seed: 0, data: undefined }, trajectories }];
  return { groups, config: undefined, events: [], series: () => [], ...more };
}

describe("the mask covers exactly the sampled tokens", () => {
  test("of any trajectory that was made", () => {
    const proof = maskCoversSampled.prove(viewOf(Array.from({ length: 50 }, () => fake())));
    expect(proof).toMatchObject({ checked: 50, findings: [] });
  });

  // makeTrajectory refuses these; a store that was written otherwise may hold them
  const sound = spoken();
  const inTurn = sound.turns[0].span.start;
  const changed = (array: Uint8Array, t: number, value: number) => array.map((old, i) => (i === t ? value : old));
  test.each([
    [
      "a token of a turn that does not count",
      { mask_T: changed(sound.mask_T, inTurn, 0) },
      "was sampled but does not count",
    ],
    [
      "a token of a turn that nobody sampled",
      {
        mask_T: changed(sound.mask_T, inTurn, 0),
        versions_T: sound.versions_T.map((v, t) => (t === inTurn ? -1 : v)),
        logprobs_T: sound.logprobs_T.map((v, t) => (t === inTurn ? 0 : v)),
      },
      "of a turn does not count as sampled",
    ],
    ["turns that are missing", { turns: [] }, "counts as sampled outside of every turn"],
    ["a token without a version", { versions_T: sound.versions_T.map(() => -1) }, "was sampled by no version"],
  ])("not with %s", (_, fault, message) => {
    const { findings } = maskCoversSampled.prove(viewOf([spoken(), { ...sound, ...fault }]));
    expect(findings).toMatchObject([{ code: "mask-invariant", severity: "error", step: 7 }]);
    expect(findings[0].message).toContain(message);
    expect(findings[0].evidence).toMatchObject({ wrong: 1, checked: 2, trajectories: [sound.id] });
  });

  test("calls that are forced now and then are no fault where the run says so", () => {
    const versions_T = sound.versions_T.map((v, t) => (t === inTurn ? -1 : v));
    const logprobs_T = sound.logprobs_T.map((v, t) => (t === inTurn ? 0 : v));
    const forced = { ...sound, mask_T: changed(sound.mask_T, inTurn, 0), versions_T, logprobs_T };
    const config = { algorithm: { sampling: { epsilonTool: 0.1 } } };
    expect(maskCoversSampled.prove(viewOf([forced], { config })).findings).toEqual([]);
  });
});

describe("rows of one rollout weigh one", () => {
  test("however they are cut", () => {
    const rows = [fake({ rollout: "a", weight: 0.25 }), fake({ rollout: "a", weight: 0.75 }), fake({ rollout: "b" })];
    expect(rolloutWeighsOne.prove(viewOf(rows))).toMatchObject({ checked: 2, findings: [] });
  });

  test("or it is said which does not", () => {
    const rows = [fake({ rollout: "a", weight: 0.5 }), fake({ rollout: "b" })];
    const { findings } = rolloutWeighsOne.prove(viewOf(rows));
    expect(findings[0]).toMatchObject({ code: "weight-invariant", evidence: { rollouts: ["a as agent"] } });
  });
});

describe("infrastructure failures are outside group statistics", () => {
  const rows = [scored(1), scored(0), scored(1), scored(0), scored(0, { stop: "tool-crash", failure: "broken" })];
  const recorded =
    (value: number, stops: readonly string[] = []) =>
    (name: string) =>
      name === metric.rewardStd || stops.some((stop) => name === metric.stop(stop))
        ? [{ step: 7, value, max: value }]
        : [];
  const outside = Math.sqrt(1 / 3);

  test("when the recorded deviation is that of the others", () => {
    const view = viewOf(rows, { series: recorded(outside) });
    expect(failuresOutsideStatistics.prove(view)).toMatchObject({ checked: 1, findings: [] });
  });

  test("and not when it is that of all", () => {
    const { findings } = failuresOutsideStatistics.prove(viewOf(rows, { series: recorded(Math.sqrt(0.3)) }));
    expect(findings[0]).toMatchObject({ code: "statistics-invariant", severity: "error", step: 7 });
    expect(findings[0].message).toContain("The recorded value includes infrastructure failures");
  });

  test("a group that left nothing behind counts where something broke, and only there", () => {
    const prove = (stops: readonly string[]) =>
      failuresOutsideStatistics.prove(viewOf(rows, { series: recorded(outside / 2, stops) })).findings.length;
    expect(prove(["env-crash"])).toBe(0);
    expect(prove([])).toBe(1);
  });
});

describe("log-probabilities recomputed equal those stored", () => {
  const rows = [spoken(), spoken()];

  test("when they do", async () => {
    const proof = await logprobsRecomputed(viewOf(rows), async ({ logprobs_T }) => logprobs_T.map((v) => v + 1e-5));
    expect(proof).toMatchObject({ checked: 2, findings: [] });
  });

  test("not when one differs, or is no number", async () => {
    for (const wrong of [0.5, Number.NaN]) {
      const proof = await logprobsRecomputed(viewOf(rows), async ({ id, logprobs_T }) =>
        logprobs_T.map((v) => (id === rows[1].id ? v + wrong : v)),
      );
      expect(proof.findings[0]).toMatchObject({ code: "logprob-invariant", evidence: { trajectories: [rows[1].id] } });
    }
  });

  test("where nothing can be recomputed, that is said", async () => {
    const without = await diagnoseFully(viewOf(rows));
    expect(without.findings.find(({ code }) => code === "not-checked")).toMatchObject({ severity: "info" });
    const proof = await logprobsRecomputed(viewOf(rows), async () => undefined);
    expect(proof).toMatchObject({ checked: 0, notChecked: expect.stringContaining("no checkpoint") });
  });

  test("a run that stored no rollout gets no advice on checkpoints", async () => {
    const { findings } = await diagnoseFully(viewOf([]), { recompute: async () => undefined });
    expect(findings.map(({ code }) => code)).not.toContain("not-checked");
  });
});
