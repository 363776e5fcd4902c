import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { metric } from "../../schema/metric-names.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { monitorContract } from "../monitor.contract.ts";
import { type RunFixture, viewOf } from "../testing/fixture-view.ts";
import { checklist } from "./checklist.ts";
import type { Finding, RunView } from "./detector.ts";
import { builtinDetectors } from "./detectors/index.ts";
import { detect, diagnose, diagnoseFully } from "./diagnose.ts";
import { liveDoctor } from "./live-doctor.ts";

// Runs that were trained with a fault switched on, and without, recorded by src/cli/commands/doctor.slow.test.ts.
const directory = fileURLToPath(new URL("../../../fixtures/doctor/", import.meta.url));
const fixtures = globSync("*.json", { cwd: directory })
  .sort()
  .map((file): RunFixture => JSON.parse(readFileSync(`${directory}${file}`, "utf8")));
const fixture = (name: string) => fixtures.find((each) => each.name === name)!;
const codesOf = (findings: readonly Finding[]) => findings.map(({ code }) => code);
// these need weights
const isOffline = (code: string) => code !== "logprob-invariant" && code !== "checkpoint-damaged";

describe.each(fixtures)("the run $name", ({ fires, mayFire, ...recorded }) => {
  test(`is found to have ${fires.length === 0 ? "nothing wrong" : fires.join(", ")}`, async () => {
    const findings = await diagnose(viewOf({ fires, mayFire, ...recorded }));
    expect(codesOf(findings)).toEqual(expect.arrayContaining(fires.filter(isOffline)));
    const troubles = findings.filter(({ severity }) => severity !== "info");
    expect(codesOf(troubles).filter((code) => ![...fires, ...mayFire].includes(code))).toEqual([]);
  });

  test("has figures for every item of the checklist it can have", () => {
    const items = checklist(viewOf({ fires, mayFire, ...recorded }));
    expect(items.map(({ item }) => item)).toEqual([
      ...["failures", "reward distribution", "lengths and stop reasons", "mask", "KL and entropy"],
      ...["reward std within groups", "tools", "sample efficiency"],
    ]);
    const unknown = items.filter(({ status }) => status === "unknown").map(({ item }) => item);
    expect(unknown.filter((item) => item !== "tools" && item !== "reward std within groups")).toEqual([]);
  });
});

describe("detectors", () => {
  const sound = fixtures.filter(({ name }) => name.startsWith("sound-"));

  test.each(builtinDetectors)(
    "$code fires on a faulty run, and on sound ones at most for information",
    ({ code, detect }) => {
      const faulty = fixtures.filter(({ fires }) => fires.includes(code));
      expect(faulty.length).toBeGreaterThan(0);
      for (const run of faulty) expect(codesOf(detect(viewOf(run))), run.name).toContain(code);
      for (const run of sound) {
        const troubles = detect(viewOf(run)).filter(({ severity }) => severity !== "info");
        expect(troubles, run.name).toEqual([]);
      }
    },
  );

  test("bear metrics that are not finite", async () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      for (const run of sound) {
        const view = viewOf(run);
        const broken = {
          ...view,
          series: (name: string) => view.series(name).map((point) => ({ ...point, value, max: value })),
        };
        const findings = await diagnose(broken);
        expect(findings.find(({ code }) => code === "reward-distribution")).toMatchObject({ severity: "error" });
        for (const { message, remedy } of findings) expect(`${message}${remedy}`).not.toContain("undefined");
      }
    }
  });

  test("each have a run that sets them off and one that does not", async () => {
    const runs = await Promise.all(fixtures.map(async (each) => codesOf(await diagnose(viewOf(each)))));
    for (const { code } of builtinDetectors) {
      expect(
        runs.some((codes) => codes.includes(code)),
        `${code} fires`,
      ).toBe(true);
      expect(
        runs.some((codes) => !codes.includes(code)),
        `${code} stays silent`,
      ).toBe(true);
    }
  });

  test("say nothing about a run that has hardly begun", async () => {
    for (const each of fixtures) {
      const view = viewOf(each);
      const start = view.series("rollout/reward")[0].step;
      const early = {
        ...view,
        groups: [],
        events: [],
        series: (name: string) => view.series(name).filter(({ step }) => step < start),
      };
      expect(codesOf(await diagnose(early)).filter((code) => code !== "not-checked")).toEqual([]);
    }
  });
});

describe("invariants hold in sound runs, and are found broken where one recorded thing is changed:", () => {
  const sound = fixtures.filter(({ name }) => name.startsWith("sound-"));
  const changed = (view: RunView, change: (trajectory: Trajectory) => Trajectory): RunView => {
    const [first, ...others] = view.groups;
    const [trajectory, ...rest] = first.trajectories;
    return { ...view, groups: [{ ...first, trajectories: [change(trajectory), ...rest] }, ...others] };
  };
  const faults: readonly [code: string, breakIt: (view: RunView) => RunView][] = [
    [
      "mask-invariant",
      (view) => changed(view, (each) => ({ ...each, mask_T: each.mask_T.map((mask, t) => (t === 0 ? 1 : mask)) })),
    ],
    ["weight-invariant", (view) => changed(view, (each) => ({ ...each, weight: 0.5 }))],
    [
      "statistics-invariant",
      (view) => ({
        ...view,
        series: (name) =>
          view.series(name).map((p) => (name === metric.rewardStd ? { ...p, value: p.value + 0.1 } : p)),
      }),
    ],
  ];
  test.each(faults)("%s", async (code, breakIt) => {
    for (const run of sound) {
      const found = async (view: RunView) =>
        codesOf(await diagnose(view)).filter((each) => each.endsWith("-invariant"));
      expect(await found(viewOf(run)), run.name).toEqual([]);
      expect(await found(breakIt(viewOf(run))), run.name).toEqual([code]);
    }
  });

  test("logprob-invariant", async () => {
    for (const run of sound) {
      const found = async (shift: number) => {
        const recompute = async ({ logprobs_T }: Trajectory) => logprobs_T.map((logprob) => logprob - shift);
        return codesOf(await diagnose(viewOf(run), { recompute }));
      };
      expect(await found(0), run.name).not.toContain("logprob-invariant");
      expect(await found(0.01), run.name).toContain("logprob-invariant");
    }
  });
});

describe("the checklist", () => {
  test.each(fixtures)("of $name says look exactly where a finding is about it", (run) => {
    const view = viewOf(run);
    const codes = new Set(detect(view).flatMap(({ code, severity }) => (severity === "info" ? [] : [code])));
    const statusOf = (item: string) => checklist(view).find((each) => each.item === item)!.status;
    const isAbout = (...about: string[]) => about.some((code) => codes.has(code));
    const divergence = ["kl-explosion", "entropy-collapse", "clip-fraction", "train-sample-mismatch"];
    expect(statusOf("KL and entropy") === "look").toBe(isAbout(...divergence));
    expect(statusOf("failures") === "look").toBe(isAbout("everything-crashed", "infrastructure-failures"));
    if (codes.size === 0) expect(checklist(view).filter(({ status }) => status === "look")).toEqual([]);
  });

  test("has an item for every detector but those of checkpoints", () => {
    const view = viewOf(fixture("sound-copy"));
    const loud = (code: string) => ({
      code,
      severity: "error" as const,
      message: "",
      evidence: {},
      remedy: "",
      step: 0,
    });
    for (const { code } of builtinDetectors) {
      if (code === "sample-efficiency") continue; // for information alone
      expect(
        checklist(view, [loud(code)]).filter(({ status }) => status === "look"),
        code,
      ).toHaveLength(1);
    }
  });
});

test("findings begin within the run, and where their fault does", async () => {
  for (const run of fixtures) {
    const view = viewOf(run);
    const steps = view.series("rollout/reward").map(({ step }) => step);
    for (const { code, step } of await diagnose(view)) {
      if (code !== "not-checked") expect(step, `${run.name} ${code}`).toBeGreaterThanOrEqual(steps[0]);
    }
  }
  // switched on from the first step of learning
  const unmasked = (await diagnose(viewOf(fixture("mask-off")))).find(({ code }) => code === "observation-unmasked");
  expect(unmasked!.step).toBe(fixture("mask-off").series["rollout/reward"][0][0]);
});

test("the worst comes first, with evidence and remedy", async () => {
  const findings = await diagnose(viewOf(fixture("impossible-tasks")));
  const severities = findings.map(({ severity }) => severity);
  expect(severities).toEqual([...severities].sort((a, b) => order.indexOf(a) - order.indexOf(b)));
  const zero = findings.find(({ code }) => code === "zero-variance")!;
  expect(zero).toMatchObject({ severity: "error", evidence: { uniformGroups: 1, allFail: 1, allPass: 0 } });
  expect(zero.remedy).toContain("easier tasks");
});
const order = ["error", "warning", "info"];

test("the same view gives the same findings", async () => {
  const view = viewOf(fixture("pays-by-turn"));
  expect(await diagnoseFully(view)).toEqual(await diagnoseFully(view));
});

monitorContract("liveDoctor", () => liveDoctor({ every: 1 }).monitor);

describe("live", () => {
  const replay = ({ series }: RunFixture, doctor: ReturnType<typeof liveDoctor>) => {
    const steps = new Map<number, Record<string, number>>();
    for (const [name, points] of Object.entries(series)) {
      for (const [step, value] of points) steps.set(step, { ...steps.get(step), [name]: value ?? Number.NaN });
    }
    const ordered = [...steps].sort(([a], [b]) => a - b);
    for (const [step, metrics] of ordered) {
      if (doctor.signal.aborted) return step;
      doctor.monitor.record({ type: "step-end", step, metrics });
    }
    return ordered.at(-1)![0];
  };

  test("a finding is told once, and again when it has become worse", () => {
    const told: Finding[] = [];
    const run = fixture("entropy-penalty");
    replay(run, liveDoctor({ config: run.config, onFinding: (finding) => told.push(finding) }));
    const traps = told.filter(({ code }) => code === "echo-trap").map(({ severity }) => severity);
    expect(traps.length).toBeGreaterThan(0);
    expect(new Set(traps).size).toBe(traps.length);
  });

  test("a code of `stopOn` that no detector has is refused", () => {
    expect(() => liveDoctor({ stopOn: ["eco-trap"] })).toThrow(/stopOn of liveDoctor: "eco-trap".*mean "echo-trap"/);
  });

  test("a finding of `stopOn` aborts the signal with its reason; others do not", () => {
    const run = fixture("impossible-tasks");
    const doctor = liveDoctor({ stopOn: ["zero-variance"], config: run.config });
    const last = run.series["rollout/reward"].at(-1)![0];
    expect(replay(run, doctor)).toBeLessThan(last);
    expect(doctor.signal.reason).toMatchObject({ name: "DoctorStop", finding: { code: "zero-variance" } });
    const other = liveDoctor({ stopOn: ["echo-trap"], config: run.config });
    expect(replay(run, other)).toBe(last);
    expect(codesOf(other.findings)).toContain("zero-variance");
  });

  test("a sound run is not stopped by anything", () => {
    const run = fixture("sound-tools");
    const doctor = liveDoctor({
      stopOn: builtinDetectors.map(({ code }) => code),
      stopAt: "warning",
      config: run.config,
    });
    replay(run, doctor);
    expect(doctor.signal.aborted).toBe(false);
  });
});
