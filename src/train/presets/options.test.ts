import { describe, expect, test } from "vitest";
import { fakeEngine } from "../../engine/fake-engine.ts";
import { truncatedRatio } from "../../loss/corrections.ts";
import { adaptiveKl } from "../../loss/kl-controller.ts";
import { relabelled, type Trajectory } from "../../schema/trajectory.ts";
import type { Algorithm } from "../algorithm.ts";
import { attempt, groupOf } from "../fixtures/attempt.ts";
import { fakePolicy } from "../fixtures/fake-policy.ts";
import { askedOfEngine, askedText } from "../fixtures/options-run.ts";
import { trainOffline } from "../offline.ts";
import type { OfflineAlgorithm } from "../offline-algorithm.ts";
import { stepPairs, trajectoryPairs } from "../pairs.ts";
import { prepare } from "../stages/prepare.ts";
import { update } from "../stages/update.ts";
import * as dastPresets from "./dast.ts";
import * as grpoPresets from "./grpo.ts";
import * as guidedPresets from "./guided.ts";
import * as offlinePresets from "./offline.ts";
import * as ppoPresets from "./ppo.ts";
import type { PpoSettings } from "./ppo-like.ts";
import type { CommonOptions } from "./preset.ts";
import * as reinforcePresets from "./reinforce.ts";
import * as relabellingPresets from "./relabelling.ts";
import * as starpoPresets from "./starpo.ts";

const { cispo, dapo, deepswe, drGrpo, gigpo, grpo, gspo, mGrpo, rloo, vspo } = grpoPresets;
const { ppo, vapo } = ppoPresets;
const { starpo, starpoS } = starpoPresets;
const { reinforcePlusPlus, remax } = reinforcePresets;
const { dpo, imitateOffline, kto, rejectionTuning } = offlinePresets;

/** Two values of every option: a run must not be the same with both. The compiler asks for the options that are missing here. */
type Values<Options> = { readonly [Option in keyof Options]-?: readonly [Options[Option], Options[Option]] };

const common: Values<CommonOptions> = {
  groupSize: [2, 4],
  learningRate: [1e-3, () => 2e-3],
  epochs: [1, 2],
  miniBatches: [1, 2],
  temperature: [1, (progress) => 1 - progress / 2],
  topP: [1, 0.5],
  topK: [3, 1],
  epsilonTool: [0, 0.9],
  weightDecay: [0, 0.1],
  beta2: [0.99, 0.95],
  maxGradientNorm: [1, 2],
  entropy: [0, 0.1],
  corrections: [[], [truncatedRatio({ cap: 0.5 })]],
};
const { entropy: _entropy, corrections: _corrections, ...sampled } = common;
const clip = [0.2, 0.01] as const;
const clips = { clipLow: clip, clipHigh: clip };
const kl = [0, 1000] as const;

interface Preset {
  readonly name: string;
  readonly make: (options: never) => Algorithm;
  readonly values: Readonly<Record<string, readonly [unknown, unknown]>>;
  /** Given with every value. */
  readonly base?: object;
}

const base = { groupSize: 4, epochs: 2, miniBatches: 2 };

function preset<Options>(
  name: string,
  make: (options: Options) => Algorithm,
  values: Values<Omit<Options, "__none">>,
  more: object = {},
): Preset {
  return { name, make: make as Preset["make"], values, base: { ...base, ...more } };
}

const ofPpo: Values<Omit<PpoSettings, "level" | "gamma" | "lambda">> = {
  ...common,
  ...clips,
  dualClip: [false, true],
  valueCoefficient: [0.5, 1],
  valueClip: [0.01, 1],
  kl: [0, adaptiveKl({ initial: 1, target: 0.01, horizon: 10 })],
  critic: [{ kind: "shared" }, { kind: "separate" }],
};
const ofGae: Values<Pick<PpoSettings, "gamma" | "lambda">> = { gamma: [1, 0.5], lambda: [1, 0.5] };
const { kl: _kl, ...withoutKl } = ofPpo;

const deviation = [{ scale: "std" }, { scale: "none" }] as const;
const presets: readonly Preset[] = [
  preset<grpoPresets.GrpoOptions>("grpo", grpo, { ...common, clip, kl, deviation, uniformGroups: ["skip", "keep"] }),
  preset<grpoPresets.GrpoOptions>("recommended", grpoPresets.recommended, {
    ...common,
    clip,
    kl,
    deviation,
    uniformGroups: ["skip", "keep"],
  }),
  preset<grpoPresets.GrpoOptions>("mGrpo", mGrpo, { ...common, clip, kl, deviation, uniformGroups: ["skip", "keep"] }),
  preset<grpoPresets.DrGrpoOptions>("drGrpo", drGrpo, { ...common, clip, length: [64, 8] }),
  preset<grpoPresets.DapoOptions>("dapo", dapo, { ...common, ...clips, maxRefills: [0, 3], maskCutOff: [true, false] }),
  preset<grpoPresets.GspoOptions>("gspo", gspo, { ...common, ...clips }),
  preset<grpoPresets.CispoOptions>("cispo", cispo, { ...common, cap: [5, 0.5], maxRefills: [0, 3] }),
  preset<grpoPresets.RlooOptions>("rloo", rloo, { ...common, clip, kl }),
  preset<CommonOptions>("deepswe", deepswe, common),
  preset<grpoPresets.VspoOptions>("vspo", vspo, { ...common, clip, kl, maxReward: [1.1, 0.5] }, { groupSize: 2 }),
  preset<grpoPresets.GigpoOptions>("gigpo", gigpo, { ...common, clip, credit: [{ omega: 1 }, { omega: 0 }] }),
  preset<PpoSettings>("ppo", ppo as never, { ...ofPpo, ...ofGae, level: ["token", "step"] }),
  preset<PpoSettings>("ppo", ppo as never, { ...ofPpo, level: [{ turnGamma: 1 }, { turnGamma: 0.5 }] } as never, {
    level: {},
  }),
  preset<ppoPresets.VapoOptions>(
    "vapo",
    vapo,
    {
      ...{ ...common, ...clips },
      alpha: [0.5, 5],
      pretrainSteps: [0, 1],
      criticLearningRate: [1e-3, 2e-3],
      positive: [0.1, 0.5],
    },
    { pretrainSteps: 0 },
  ),
  preset<PpoSettings & { advantages: unknown }>("starpo", starpo as never, {
    ...{ ...ofPpo, ...ofGae },
    level: ["token", "step"],
    advantages: ["critic", "group"],
  }),
  preset("starpo", starpo as never, { ...common, ...clips, kl } as never, { advantages: "group" }),
  preset<Omit<PpoSettings, "kl"> & { share: number }>("starpoS", starpoS as never, {
    ...{ ...withoutKl, ...ofGae },
    level: ["token", "step"],
    share: [0.25, 1],
  }),
  preset(
    "reinforcePlusPlus",
    reinforcePlusPlus as never,
    {
      ...{ ...common, clip, kl },
      gamma: [1, 0.5],
      baseline: [false, true],
    } as never,
  ),
  preset("reinforcePlusPlus", reinforcePlusPlus as never, { ...common, clip, kl } as never, { baseline: true }),
  preset<reinforcePresets.RemaxOptions>("remax", remax, { ...common, clip }),
  preset<offlinePresets.RejectionTuningOptions>("rejectionTuning", rejectionTuning, {
    ...sampled,
    filter: [({ score }: Trajectory) => score.success, () => true],
  }),
];

/** What an option needs beside it to have something to act on. */
const extra: Readonly<Record<string, object>> = {
  uniformGroups: { groupSize: 2 },
  maxRefills: { groupSize: 2 },
};

describe.each(presets.map((each) => [`${each.name} ${JSON.stringify(each.base)}`, each] as const))(
  "%s: every option makes a difference",
  (_, { make, values, base: given }) => {
    test("and nothing else does", async () => {
      const run = () => askedOfEngine(make(given as never));
      expect(await run()).toBe(await run());
    });

    test.each(Object.keys(values))("%s", async (option) => {
      const runs = values[option].map((value) =>
        askedOfEngine(make({ ...given, ...extra[option], [option]: value } as never)),
      );
      const [first, second] = await Promise.all(runs);
      expect(first === second).toBe(false);
    });
  },
);

/** Attempts that were sampled by another policy than the fake one, which a hint had helped or not. */
const group = groupOf(
  attempt("good", [[98, 97], [97]], 1),
  attempt("bad", [[98, 98], [98]], 0),
  attempt(
    "worse",
    [
      [98, 98],
      [97, 97],
    ],
    -1,
  ),
);

async function askedOffline(algorithm: OfflineAlgorithm): Promise<string> {
  const policy = fakePolicy(0.5, {
    distribution: (tokens, at) => new Array<number>(258).fill(1).with(97, 5 + at * tokens.length),
  });
  const { metrics } = await trainOffline({ policy, groups: [group], algorithm, steps: 2 });
  return askedText(policy.engine, [metrics["update/loss"]]);
}

const ofOptimizer = {
  learningRate: common.learningRate,
  weightDecay: common.weightDecay,
  beta2: common.beta2,
  maxGradientNorm: common.maxGradientNorm,
} as const;
const reference = ["snapshot", "stored"] as const;
const offline: readonly (readonly [string, (options: never) => OfflineAlgorithm, Preset["values"], object])[] = [
  [
    "imitateOffline",
    imitateOffline,
    {
      ...ofOptimizer,
      filter: [() => true, ({ score }: Trajectory) => score.success],
      aggregation: ["token-mean", "seq-mean-token-mean"],
    } satisfies Values<offlinePresets.ImitateOfflineOptions>,
    {},
  ],
  [
    "dpo",
    dpo,
    {
      ...ofOptimizer,
      reference,
      pairs: [trajectoryPairs, stepPairs],
      beta: [0.1, 0.5],
      labelSmoothing: [0, 0.1],
      variant: ["sigmoid", "ipo"],
    },
    {},
  ],
  [
    "dpo",
    dpo,
    { ...ofOptimizer, reference, pairs: [trajectoryPairs, stepPairs], beta: [0.1, 0.5] },
    { variant: "ipo" },
  ],
  [
    "kto",
    kto,
    {
      ...ofOptimizer,
      reference,
      isDesirable: [({ score }: Trajectory) => score.success, () => true],
      beta: [0.1, 0.5],
      desirableWeight: [1, 2],
      undesirableWeight: [1, 2],
    } satisfies Values<offlinePresets.KtoOptions>,
    {},
  ],
];

describe.each(offline)("%s: every option makes a difference", (_, make, values, given) => {
  test.each(Object.keys(values))("%s", async (option) => {
    const run = (value: unknown) => askedOffline(make({ ...given, [option]: value } as never));
    const [first, second] = values[option];
    expect(await run(first)).toBe(await run(first));
    expect((await run(first)) === (await run(second))).toBe(false);
  });
});

describe("guided: every option makes a difference", () => {
  const hinted = (id: string, total: number) => {
    const plain = attempt(id, [[2, 3], [4]], total, { tokens_T: Int32Array.of(7, 2, 3, 9, 4) });
    const [first, ...others] = plain.turns;
    const hint = { kind: "plan", text: "!", prompt_P: Int32Array.of(1) };
    return { ...plain, turns: [{ ...first, annotations: { hint } }, ...others] };
  };
  const helped = { ...groupOf(hinted("c", 1), hinted("d", 1), hinted("e", 0)) };
  const guidedBy = async (options: guidedPresets.GuidedOptions) => {
    const engine = fakeEngine({
      vocabularySize: 10,
      distribution: (tokens) => tokens.map((_, t) => t + 1).concat(Array(10 - tokens.length).fill(1)),
    });
    const context = { policy: { engine }, algorithm: guidedPresets.guided(grpo(), options) };
    const prepared = await prepare({ ...context, learners: ["policy"] }, { groups: [{ group: helped, scale: 1 }] });
    await update({ ...context, learningStep: 0, progress: 0, seed: 0 }, prepared);
    return askedText(engine, []);
  };

  const cases: [string, guidedPresets.GuidedOptions, guidedPresets.GuidedOptions][] = [
    ["condition", { condition: "context" }, { condition: "stripped" }],
    ["offPolicy", { offPolicy: "importance" }, { offPolicy: "imitate" }],
    ["cap", { offPolicy: "importance", cap: 1e-3 }, { offPolicy: "importance", cap: 2e-3 }],
    ["level", { offPolicy: "importance", level: "token" }, { offPolicy: "importance", level: "sequence" }],
    ["coefficient", { coefficient: 1 }, { coefficient: 2 }],
  ];
  test.each(cases)("%s", async (_, first, second) => {
    expect((await guidedBy(first)) === (await guidedBy(second))).toBe(false);
  });
});

describe("relabelling: every option makes a difference", () => {
  const reached = (id: string, total: number) => relabelled(attempt(id, [[2, 3], [4]], total), "another task");
  const group = groupOf(reached("c", 1), reached("d", 1), reached("e", 0));
  const relabelledBy = async (options: relabellingPresets.RelabellingOptions) => {
    const engine = fakeEngine({
      vocabularySize: 10,
      distribution: (tokens) => tokens.map((_, t) => t + 1).concat(Array(10 - tokens.length).fill(1)),
    });
    const context = { policy: { engine }, algorithm: relabellingPresets.relabelling(grpo(), options) };
    const groups = [{ group, scale: 1, isOffPolicy: true }];
    const prepared = await prepare({ ...context, learners: ["policy"] }, { groups });
    await update({ ...context, learningStep: 0, progress: 0, seed: 0 }, prepared);
    return askedText(engine, []);
  };
  const cases: [string, relabellingPresets.RelabellingOptions, relabellingPresets.RelabellingOptions][] = [
    ["offPolicy", { offPolicy: "importance" }, { offPolicy: "imitate" }],
    ["cap", { offPolicy: "importance", cap: 1e-3 }, { offPolicy: "importance", cap: 2e-3 }],
    ["level", { offPolicy: "importance", level: "token" }, { offPolicy: "importance", level: "sequence" }],
    ["coefficient", { coefficient: 1 }, { coefficient: 2 }],
  ];
  test.each(cases)("%s", async (_, first, second) => {
    expect((await relabelledBy(first)) === (await relabelledBy(second))).toBe(false);
  });
});

test("withDast: fullScore makes a difference", async () => {
  const run = (fullScore: number) => askedOfEngine(dastPresets.withDast(grpo(base), { fullScore }));
  expect((await run(1 + 2 / 64)) === (await run(3))).toBe(false);
});

describe("KL penalties", () => {
  const withKl = presets.filter(({ values }) => "kl" in values);

  test.each(withKl.map((each) => [`${each.name} ${JSON.stringify(each.base)}`, each] as const))(
    "%s: acts, and without it no reference is kept or asked",
    async (_, { make, base: given }) => {
      const derivatives = async (kl: number) => {
        const asked: string[] = [];
        const text = await askedOfEngine(make({ ...given, kl } as never), (engine) => {
          asked.push(...engine.forwards.map(({ options }) => options.weights ?? "policy"), ...engine.info.weights);
        });
        return { asked, derivatives: JSON.parse(text).derivatives };
      };
      const [without, strong] = [await derivatives(0), await derivatives(1000)];
      expect(strong.derivatives).not.toEqual(without.derivatives);
      expect(without.asked).not.toContain("reference");
      expect(strong.asked).toContain("reference");
    },
  );

  test.each(withKl.map(({ name, make }) => [name, make] as const))("%s: below 0 or no number is refused", (_, make) => {
    for (const kl of [-0.1, Number.NaN]) expect(() => make({ kl } as never)).toThrow(/expected.* 0 or more/);
  });
});

const modules = [
  dastPresets,
  grpoPresets,
  guidedPresets,
  offlinePresets,
  ppoPresets,
  reinforcePresets,
  relabellingPresets,
  starpoPresets,
];
const helpers = ["guidedPairs"];
/** Those that are given an algorithm, and an option of each. */
const optionOf: Readonly<Record<string, string>> = {
  guided: "offPolicy",
  relabelling: "offPolicy",
  withDast: "fullScore",
};
const wrappers = Object.keys(optionOf);
const functions = modules.flatMap((module) =>
  Object.entries(module).filter(([name, value]) => typeof value === "function" && !helpers.includes(name)),
) as [string, (...options: unknown[]) => unknown][];

test("every preset is in the tables above", () => {
  const tested = [...presets.map(({ name }) => name), ...offline.map(([name]) => name), ...wrappers];
  expect(new Set(tested)).toEqual(new Set(functions.map(([name]) => name)));
});

test.each(functions)("%s refuses an option it does not know, and names the nearest", (name, make) => {
  const known = [...presets, ...offline.map(([n, m, v]) => ({ name: n, make: m, values: v }))].find(
    (p) => p.name === name,
  );
  const option = known === undefined ? optionOf[name] : Object.keys(known.values)[0];
  const misspelt = { [option.toLowerCase()]: 1, [`${option}s`]: 1 };
  const call = () => (wrappers.includes(name) ? make(grpo(), misspelt) : make(misspelt));
  expect(call).toThrow(new RegExp(`${name}: unknown option .*${option}"\\?`));
});

test("an option that has no effect beside the others is refused by the compiler and at run time", () => {
  const refused: [() => unknown, RegExp][] = [
    // @ts-expect-error bi-level credit has its own
    [() => ppo({ level: { turnGamma: 0.9 }, gamma: 0.5 }), /ppo with "gamma", which has no effect .*level: \{ gamma/],
    // @ts-expect-error
    [() => ppo({ level: {}, lambda: 0.5 }), /"lambda"/],
    // @ts-expect-error a shared critic learns at the policy's rate
    [() => ppo({ critic: { learningRate: 1 } }), /"learningRate".*kind: "separate"/],
    // @ts-expect-error
    [() => ppo({ critic: { kind: "shared", pretrainSteps: 1 } }), /"pretrainSteps"/],
    ...[
      { dualClip: true },
      { gamma: 1 },
      { lambda: 1 },
      { level: "step" },
      { valueCoefficient: 1 },
      { valueClip: 1 },
      { critic: {} },
    ].map((option): [() => unknown, RegExp] => [
      () => starpo({ advantages: "group", ...option } as never),
      new RegExp(`"${Object.keys(option)[0]}", which has no effect with advantages "group"`),
    ]),
    // @ts-expect-error
    [() => starpo({ advantages: "group", gamma: 0.5 }), /"gamma"/],
    // @ts-expect-error
    [() => starpoS({ level: {}, gamma: 0.5 }), /"gamma"/],
    // @ts-expect-error whole attempts are compared
    [() => reinforcePlusPlus({ baseline: true, gamma: 0.9 }), /"gamma", which has no effect with `baseline`/],
    // @ts-expect-error nothing is divided by the deviation
    [() => grpo({ deviation: { scale: "none", epsilon: 1 } }), /"epsilon"/],
    // @ts-expect-error
    [() => gigpo({ credit: { scale: "none", std: "population" } }), /"std"/],
    // @ts-expect-error
    [() => dpo({ variant: "ipo", labelSmoothing: 0.1 }), /"labelSmoothing"/],
    // @ts-expect-error
    [() => guidedPresets.guided(grpo(), { condition: "context", cap: 1 }), /"cap"/],
    // @ts-expect-error
    [() => guidedPresets.guided(grpo(), { coefficient: 1, offPolicy: "importance" }), /"coefficient"/],
    // @ts-expect-error
    [() => guidedPresets.guided(grpo(), { cap: 1 }), /"cap"/],
  ];
  for (const [call, message] of refused) expect(call).toThrow(message);
});
