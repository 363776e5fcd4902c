import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { metric } from "../../../schema/metric-names.ts";
import { viewOf } from "../../testing/fixture-view.ts";
import type { RunView } from "../detector.ts";
import { echoTrap } from "./echo-trap.ts";
import { entropyCollapse } from "./entropy-collapse.ts";
import { everythingCrashed } from "./everything-crashed.ts";
import { graderHacking } from "./grader-hacking.ts";
import { builtinDetectors } from "./index.ts";
import { infrastructureFailures } from "./infrastructure-failures.ts";
import { klExplosion } from "./kl-explosion.ts";
import { loops } from "./loops.ts";
import { rewardDistribution } from "./reward-distribution.ts";
import { valueFunction } from "./value-function.ts";
import { warmStart } from "./warm-start.ts";
import { zeroVariance } from "./zero-variance.ts";

// Detectors that look in two ways, each way alone. That they fire at all is tested with recorded runs, in ../doctor.test.ts.

const recorded = (name: string) =>
  viewOf(JSON.parse(readFileSync(new URL(`../../../../fixtures/doctor/${name}.json`, import.meta.url), "utf8")));
const without = (view: RunView, name: string): RunView => ({
  ...view,
  series: (n) => (n === name ? [] : view.series(n)),
});

const made = (series: Readonly<Record<string, readonly number[]>>): RunView => ({
  groups: [],
  config: undefined,
  events: [],
  series: (name) => (series[name] ?? []).map((value, step) => ({ step, value, max: value })),
});
const ten = (value: number) => new Array<number>(10).fill(value);

describe("grader hacking", () => {
  const view = recorded("hackable-grader");
  test("is seen on held-out tasks", () => {
    expect(graderHacking.detect(without(view, metric.success))[0].message).toMatch(/success on held-out tasks fell/);
  });
  test("is seen in training where nothing was evaluated", () => {
    expect(graderHacking.detect(without(view, metric.evalSuccess))[0].message).toMatch(/share of solved tasks fell/);
  });
  test("is no matter of success alone, nor of reward alone", () => {
    const fallen = { [metric.success]: [...ten(0.9), ...ten(0.2)], [metric.evalSuccess]: [0.9, 0.2] };
    expect(graderHacking.detect(made({ ...fallen, [metric.reward]: [...ten(0.9), ...ten(0.2)] }))).toEqual([]);
    const risen = {
      [metric.success]: ten(0.5),
      [metric.evalSuccess]: [0.5, 0.5],
      [metric.reward]: [...ten(0.2), ...ten(0.9)],
    };
    expect(graderHacking.detect(made(risen))).toEqual([]);
  });
});

describe("a warm start", () => {
  const start = (success: number, expert: number) => {
    const learned = new Array<number>(6).fill(success);
    const series = { [metric.success]: learned, [metric.reward]: learned, [metric.expertSuccess]: [expert] };
    return warmStart.detect(made(series));
  };
  test("is unfinished where attempts succeed far less often than the demonstrations", () => {
    const [finding] = start(0.12, 0.45);
    expect(finding.message).toBe(
      "45 % of the demonstrations succeed, and 12 % of the first attempts: the policy had not learned to do what it was shown.",
    );
    expect(finding.evidence).toEqual({ expertSuccess: 0.45, success: expect.closeTo(0.12) });
  });
  test("is finished where they succeed about as often, and untold where demonstrations hardly do", () => {
    expect(start(0.4, 0.5)).toEqual([]);
    expect(start(0.02, 0.15)).toEqual([]);
  });
});

describe("loops", () => {
  const view = recorded("pays-by-turn");
  test("are seen in rollouts, by their words and what they are told", () => {
    expect(loops.detect(view)[0].message).toMatch(/repeat both the text and the observation/);
    expect(loops.detect(view)[0].evidence.trajectories).toHaveLength(3);
  });
  test("are seen live by words alone, where few tasks are solved", () => {
    expect(loops.detect({ ...view, groups: [] })[0].message).toMatch(/repeat the text of the turn before/);
  });
  test("are not seen in a walker who goes on and on and gets there", () => {
    expect(loops.detect(recorded("sound-walk"))).toEqual([]);
  });
});

describe("divergence", () => {
  test("is seen from the reference", () => {
    expect(klExplosion.detect(recorded("weak-penalty")).map(({ evidence }) => Object.keys(evidence)[0])).toContain(
      "klReference",
    );
  });
  test("is seen within a step", () => {
    expect(klExplosion.detect(recorded("many-epochs")).map(({ evidence }) => Object.keys(evidence)[0])).toContain(
      "klOldNew",
    );
  });
});

test("a critic whose error grows is seen without rollouts", () => {
  const errors = [0.1, 0.11, 0.09, 0.1, 0.1, 0.1, 0.3, 0.5, 0.48, 0.52];
  const [finding] = valueFunction.detect(made({ [metric.reward]: ten(0.5), [metric.valueError]: errors }));
  expect(finding).toMatchObject({
    code: "value-function",
    evidence: { errorBefore: expect.closeTo(0.1, 6), errorAfter: 0.5 },
  });
});

test("a reward that is no number is an error", () => {
  const view = made({ [metric.reward]: [0.1, Number.NaN, 0.2] });
  expect(rewardDistribution.detect(view)).toMatchObject([{ severity: "error", step: 1 }]);
});

test.each([
  ["info", 0.1, 0.85],
  ["error", 0.85, 0.1],
  ["warning", 0.45, 0.5],
])("uniform groups are an %s when %d of groups fail and %d pass", (severity, fail, pass) => {
  const series = { [metric.reward]: ten(0.5), [metric.uniform]: ten(0.95), [metric.uniformFail]: ten(fail) };
  const view = made({ ...series, [metric.uniformPass]: ten(pass) });
  expect(zeroVariance.detect(view)).toMatchObject([
    { severity, evidence: { allFail: expect.closeTo(fail, 9), allPass: expect.closeTo(pass, 9) } },
  ]);
  expect(zeroVariance.detect({ ...view, config: { algorithm: { groupSize: 1 } } })).toEqual([]);
});

describe("low entropy", () => {
  const ramp = (from: number, to: number, count = 20) =>
    Array.from({ length: count }, (_, i) => from + ((to - from) * i) / (count - 1));
  const low = { [metric.reward]: [...ten(0.5), ...ten(0.5)], [metric.entropy]: [...ten(2), ...ten(0.05)] };
  const falling = { ...low, [metric.rewardStd]: ramp(0.5, 0.01) };
  const troubles = (series: Readonly<Record<string, readonly number[]>>) =>
    [...entropyCollapse.detect(made(series)), ...echoTrap.detect(made(series))].map(({ code }) => code);

  test("is no collapse where held-out tasks are solved, though sampling at temperature 1 still fails now and then", () => {
    const most = { [metric.success]: ramp(0.8, 0.86), [metric.evalSuccess]: [0.8, 0.94] };
    expect(troubles({ ...falling, ...most })).toEqual([]);
    expect(troubles({ ...falling, ...most, [metric.evalSuccess]: [0.8, 0.82] })).toEqual([
      "entropy-collapse",
      "echo-trap",
    ]);
  });

  test("is no collapse where more and more tasks are solved", () => {
    expect(troubles({ ...falling, [metric.success]: ramp(0.2, 0.75) })).toEqual([]);
  });

  test("is one where success rose and fell again, or held-out success did", () => {
    const [up, down] = [ramp(0.2, 0.75, 10), ramp(0.75, 0.4, 10)];
    expect(troubles({ ...falling, [metric.success]: [...up, ...down] })).toContain("entropy-collapse");
    const forgotten = { [metric.success]: ramp(0.2, 0.75), [metric.evalSuccess]: [0.7, 0.3] };
    expect(troubles({ ...falling, ...forgotten })).toContain("entropy-collapse");
  });

  test("is told with the step at which it began", () => {
    const [finding] = entropyCollapse.detect(made({ ...low, [metric.success]: [...ten(0.5), ...ten(0.5)] }));
    expect(finding.step).toBe(11);
  });
});

describe("attempts that all failed", () => {
  const failure = { type: "failure", during: "training", stop: "env-crash", rollout: "step-2/0/0" } as const;
  const lost = { ...failure, step: 2, count: 32, attempts: 32, message: "Error: database is down" };
  const crashed = (events: RunView["events"], series = {}) =>
    everythingCrashed.detect({ ...made(series), events }).map(({ step, message }) => `${step} ${message}`);

  test("are told with their text and step, also of a run without a single whole step", () => {
    expect(crashed([lost])).toEqual([
      "2 Every attempt of step 2 failed through no fault of the policy: 32 × env-crash: Error: database is down.",
    ]);
    const demonstrations = { ...lost, step: 0, during: "demonstration" } as const;
    expect(crashed([demonstrations])[0]).toMatch(/^0 Every attempt of the warm start failed/);
    expect(crashed([{ ...lost, during: "evaluation" }])[0]).toMatch(/^2 Every attempt of the evaluation at step 2/);
  });

  test("of two kinds are counted together; where some were played to their end, not all crashed", () => {
    const other = { ...lost, count: 12, message: "Error: no disk" };
    expect(crashed([{ ...lost, count: 20 }, other])).toHaveLength(1);
    expect(crashed([{ ...lost, count: 20 }])).toEqual([]);
  });

  test("are seen in the metrics of a run that stored no failures, which has no uniform groups", () => {
    const series = {
      [metric.reward]: ten(0),
      [metric.stop("env-crash")]: ten(0.75),
      [metric.stop("tool-crash")]: ten(0.25),
    };
    expect(crashed([], series)).toEqual(["0 Every attempt of step 0 failed through no fault of the policy."]);
    expect(zeroVariance.detect(made({ ...series, [metric.uniform]: ten(0) }))).toEqual([]);
  });

  test("in part are told with what they say, from the step on at which they began", () => {
    const series = { [metric.reward]: ten(0.5), [metric.stop("env-crash")]: [...ten(0).slice(4), 0.3, 0.3, 0.3, 0.3] };
    const events = [3, 9].map((step) => ({ ...lost, step, count: 5 }));
    const [finding] = infrastructureFailures.detect({ ...made(series), events });
    expect(finding.message).toContain("after retries: 10 × env-crash: Error: database is down.");
    expect(finding.step).toBe(5);
  });
});

// From metrics alone, as a run in progress is seen: on either side of each limit.
describe("limits", () => {
  const base = { [metric.reward]: ten(0.5), [metric.success]: ten(0.5) };
  const twenty = (value: number) => [...ten(value), ...ten(value)];
  const ramp = (from: number, to: number) => Array.from({ length: 20 }, (_, i) => from + ((to - from) * i) / 19);
  const falling = { [metric.success]: twenty(0.5), [metric.reward]: twenty(0.5), [metric.rewardStd]: ramp(0.5, 0.01) };
  type Metrics = Readonly<Record<string, readonly number[]>>;
  const cases: readonly [code: string, severity: string, faulty: Metrics, sound: Metrics][] = [
    [
      "clip-fraction",
      "warning",
      { [metric.clipLow]: ten(0.1), [metric.clipHigh]: ten(0.16) },
      { [metric.clipHigh]: ten(0.24) },
    ],
    [
      "echo-trap",
      "warning",
      { ...falling, [metric.entropy]: ramp(2, 0.2) },
      { ...falling, [metric.entropy]: twenty(2) },
    ],
    [
      "echo-trap",
      "error",
      { ...falling, [metric.entropy]: ramp(2, 0.2), [metric.gradientNorm]: [...twenty(1).slice(1), 9] },
      { ...falling, [metric.entropy]: ramp(2, 0.2), [metric.success]: twenty(0.95) },
    ],
    ["entropy-collapse", "warning", { [metric.entropy]: [...ten(2), ...ten(0)] }, { [metric.entropy]: ramp(2, 1) }],
    [
      "entropy-collapse",
      "error",
      { [metric.entropy]: [...ten(2), ...ten(0)], [metric.success]: ramp(0.8, 0.2) },
      { [metric.entropy]: [...ten(2), ...ten(0)], [metric.success]: twenty(0.95) },
    ],
    [
      "infrastructure-failures",
      "warning",
      { [metric.stop("tool-crash")]: ten(0.03) },
      { [metric.stop("tool-crash")]: ten(0.01) },
    ],
    [
      "infrastructure-failures",
      "error",
      { [metric.stop("env-crash")]: ten(0.3) },
      { [metric.stop("cancelled")]: ten(0.3) },
    ],
    ["kl-explosion", "warning", { [metric.klOldNew]: ten(0.025) }, { [metric.klOldNew]: ten(0.015) }],
    ["kl-explosion", "warning", { [metric.klReference]: ten(0.6) }, { [metric.klReference]: ten(0.4) }],
    [
      "learning-stalled",
      "warning",
      { [metric.reward]: twenty(0.5), [metric.success]: twenty(0.5) },
      { [metric.reward]: ramp(0.2, 0.8), [metric.success]: twenty(0.5) },
    ],
    [
      "length-explosion",
      "error",
      { [metric.turnShare]: [...ten(0.3).slice(5), ...ten(0.95).slice(5)] },
      { [metric.turnShare]: ten(0.95) },
    ],
    [
      "observation-unmasked",
      "error",
      { [metric.unsampledShare]: [0, 0, 1e-6] },
      { [metric.unsampledShare]: [0, 0, 1e-12] },
    ],
    ["sample-efficiency", "info", { [metric.uniform]: ten(0.7) }, { [metric.uniform]: ten(0.5) }],
    [
      "skipped-updates",
      "error",
      { [metric.skippedSteps]: [0, 1, 0], [metric.gradientNorm]: [1, Number.NaN, 1] },
      { [metric.skippedSteps]: [0, 0, 0], [metric.gradientNorm]: [1, 1, 1] },
    ],
    ["tool-hallucination", "warning", { [metric.toolUnknown]: ten(0.06) }, { [metric.toolUnknown]: ten(0.04) }],
    ["tool-hallucination", "error", { [metric.toolUnknown]: ten(0.3) }, { [metric.toolUnknown]: ten(0) }],
    ["train-sample-mismatch", "warning", { [metric.mismatchMean]: ten(0.02) }, { [metric.mismatchMean]: ten(0.005) }],
    ["train-sample-mismatch", "error", { [metric.mismatchMean]: ten(0.06) }, {}],
  ];

  test.each(cases)("%s is found with severity %s, and not in a sound run", (code, severity, faulty, sound) => {
    const detector = builtinDetectors.find((each) => each.code === code)!;
    const findings = detector.detect(made({ ...base, ...faulty }));
    expect(findings).toMatchObject([{ code, severity, message: expect.any(String), remedy: expect.any(String) }]);
    // evidence is stored as JSON, which has no NaN
    expect(JSON.stringify(findings[0].evidence)).not.toContain("null");
    expect(detector.detect(made({ ...base, ...sound }))).toEqual([]);
  });

  test.each(builtinDetectors)("$code says nothing about a run without metrics", ({ detect }) => {
    expect(detect(made({}))).toEqual([]);
  });
});
