import { lock } from "../../env/environments/lock.ts";
import { lastTurns } from "../../rollout/context.ts";
import {
  fromScratch,
  grpo,
  type ImitateOptions,
  imitate,
  ppo,
  type TrainConfig,
  type TrainResult,
  train,
} from "../../train/index.ts";
import { copyEnv, drawerEnv, walkEnv } from "./fault-environments.ts";
import { coldEngine, unmaskedEngine, withoutMask } from "./fault-policies.ts";

/** A short training with a fault switched on, and what the doctor must say of it. */
export interface FaultRun {
  readonly name: string;
  /** Codes of errors and warnings that must be found. */
  readonly fires: readonly string[];
  /** Further ones that may be: they follow from the fault. */
  readonly mayFire: readonly string[];
  start(run: string): Promise<TrainResult>;
}

const policy = fromScratch({ size: "tiny", tokenizer: "bytes", threads: 2 });
const critical = fromScratch({ size: "tiny", tokenizer: "bytes", threads: 2, valueHead: true });
const demonstrations = (options: Partial<ImitateOptions> = {}) =>
  imitate({ demonstrations: 300, noise: 0.5, steps: 60, batchSize: 32, learningRate: 3e-3, ...options });
const sound = grpo({ groupSize: 8, learningRate: 5e-4 });
const steady = () => demonstrations({ steps: 150, noise: 0.2 });
const soundPpo = ppo({ learningRate: 5e-4 });

function faultRun<Data, State>(
  name: string,
  [fires, mayFire]: readonly [readonly string[], readonly string[]],
  config: () => Partial<TrainConfig<Data, State>> & Pick<TrainConfig<Data, State>, "env">,
): FaultRun {
  return {
    ...{ name, fires, mayFire },
    start: (run) =>
      train<Data, State>({
        ...{ policy, warmStart: demonstrations(), algorithm: sound, steps: 40, tasksPerStep: 8, seed: 1, run },
        ...{ eval: { tasks: 64, every: 20 }, save: { every: 20, keep: 5 } },
        ...config(),
      }),
  };
}

const nothing = [[], []] as const;

export const soundRuns: readonly FaultRun[] = [
  faultRun("sound-copy", nothing, () => ({ env: copyEnv() })),
  faultRun("sound-walk", nothing, () => ({ env: walkEnv(), warmStart: steady() })),
  faultRun("sound-tools", nothing, () => ({ env: drawerEnv(), warmStart: demonstrations({ steps: 150, noise: 0.3 }) })),
  faultRun("sound-ppo", nothing, () => ({
    ...{ env: copyEnv(), policy: critical, algorithm: soundPpo, tasksPerStep: 64, steps: 24 },
  })),
  faultRun("sound-cut-context", [[], ["zero-variance", "echo-trap"]], () => ({
    env: walkEnv(),
    warmStart: steady(),
    rollout: { context: lastTurns(1) },
  })),
];

export const faultRuns: readonly FaultRun[] = [
  faultRun("mask-off", [["observation-unmasked"], ["learning-stalled", "entropy-collapse"]], () => ({
    ...{ env: copyEnv(), policy: unmaskedEngine(policy), algorithm: withoutMask(sound) },
  })),
  faultRun("hackable-grader", [["grader-hacking"], ["reward-distribution", "echo-trap"]], () => ({
    env: copyEnv({ hackable: true }),
  })),
  faultRun(
    "pays-by-turn",
    [
      ["length-explosion", "loops"],
      ["grader-hacking", "entropy-collapse"],
    ],
    () => ({
      env: walkEnv({ paysByTurn: true }),
      warmStart: steady(),
    }),
  ),
  faultRun("unknown-tool", [["tool-hallucination"], []], () => ({
    env: drawerEnv({ hallucinating: true }),
    warmStart: steady(),
  })),
  faultRun("impossible-tasks", [["zero-variance", "reward-distribution", "learning-stalled"], []], () => ({
    ...{ env: lock({ secret: "random", digits: 4 }), warmStart: demonstrations({ noise: 0 }) },
  })),
  faultRun("crashing-tool", [["infrastructure-failures"], ["learning-stalled"]], () => ({
    env: drawerEnv({ crashing: true }),
    warmStart: demonstrations({ demonstrations: 900, steps: 150, noise: 0.3 }),
  })),
  faultRun(
    "learning-rate-high",
    [
      ["echo-trap", "zero-variance"],
      ["length-explosion", "reward-distribution", "learning-stalled", "entropy-collapse"],
    ],
    () => ({
      ...{ env: copyEnv(), algorithm: grpo({ groupSize: 8, learningRate: 3e-2, maxGradientNorm: 1e9 }) },
    }),
  ),
  faultRun(
    "many-epochs",
    [
      ["clip-fraction", "kl-explosion", "entropy-collapse"],
      ["zero-variance", "echo-trap", "learning-stalled"],
    ],
    () => ({
      ...{ env: copyEnv(), algorithm: grpo({ groupSize: 8, learningRate: 5e-3, epochs: 8 }) },
    }),
  ),
  faultRun("cold-sampler", [["train-sample-mismatch", "logprob-invariant"], []], () => ({
    ...{ env: copyEnv(), policy: coldEngine(critical), algorithm: soundPpo, tasksPerStep: 64 },
  })),
  faultRun("learning-rate-zero", [["learning-stalled"], []], () => ({
    ...{ env: copyEnv(), algorithm: grpo({ groupSize: 8, learningRate: 0 }) },
  })),
  faultRun("wild-critic", [["value-function"], ["learning-stalled"]], () => ({
    ...{ env: copyEnv(), policy: critical, tasksPerStep: 64 },
    algorithm: ppo({ learningRate: 2e-5, critic: { kind: "separate", learningRate: 0.1 } }),
  })),
  faultRun("idle-critic", [["value-function"], ["learning-stalled"]], () => ({
    ...{ env: copyEnv(), policy: critical, tasksPerStep: 64 },
    algorithm: ppo({ learningRate: 2e-5, valueCoefficient: 0 }),
  })),
];
