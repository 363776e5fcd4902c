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
import { coldEngine, unmaskedEngine, withEntropyPenalty, withOverflow, withoutMask } from "./fault-policies.ts";

/** A short training, and what the doctor must say of it. */
export interface FaultRun {
  readonly name: string;
  /** Codes of errors and warnings that must be found; none of a sound run. */
  readonly fires: readonly string[];
  /** Further ones that may be: they follow from the fault. */
  readonly mayFire: readonly string[];
  start(run: string, more?: Pick<TrainConfig, "monitors" | "signal" | "seed">): Promise<TrainResult>;
}

type Changes<Data> = Partial<TrainConfig<Data>> & Pick<TrainConfig<Data>, "env">;

const policy = fromScratch({ size: "tiny", tokenizer: "bytes", threads: 2 });
const critical = fromScratch({ size: "tiny", tokenizer: "bytes", threads: 2, valueHead: true });
const shown = (options: Partial<ImitateOptions> = {}) =>
  imitate({ demonstrations: 300, noise: 0.5, steps: 60, batchSize: 32, learningRate: 3e-3, ...options });
const well = (options: Partial<ImitateOptions> = {}) => shown({ steps: 150, noise: 0.2, ...options });
const sound = grpo({ groupSize: 8, learningRate: 5e-4 });
const soundPpo = ppo({ learningRate: 5e-4 });

/** What may be seen once a policy has collapsed. */
const aftermath = [
  ...["zero-variance", "echo-trap", "learning-stalled", "reward-distribution", "entropy-collapse", "length-explosion"],
  ...["clip-fraction", "kl-explosion", "loops", "grader-hacking"],
];

function faultRun<Data>(
  name: string,
  { fires = [], mayFire = [] }: { fires?: readonly string[]; mayFire?: readonly string[] },
  config: () => Changes<Data>,
): FaultRun {
  return {
    name,
    fires,
    mayFire,
    start: (run, more = {}) =>
      train<Data>({
        policy,
        warmStart: shown(),
        algorithm: sound,
        steps: 40,
        tasksPerStep: 8,
        seed: 1,
        run,
        eval: { tasks: 64, every: 20 },
        save: { every: 20, retain: 5 },
        ...config(),
        ...more,
      }),
  };
}

export const soundRuns: readonly FaultRun[] = [
  faultRun("sound-copy", {}, () => ({ env: copyEnv() })),
  faultRun("sound-walk", {}, () => ({ env: walkEnv(), warmStart: well() })),
  faultRun("sound-tools", {}, () => ({ env: drawerEnv(), warmStart: well({ noise: 0.3 }) })),
  faultRun("sound-ppo", {}, () => ({
    env: copyEnv(),
    policy: critical,
    algorithm: soundPpo,
    tasksPerStep: 64,
    steps: 24,
  })),
  // rollouts of several rows each; demonstrations saw the whole context, so that it does not learn well
  faultRun("cut-context", { mayFire: ["zero-variance", "echo-trap", "learning-stalled"] }, () => ({
    env: walkEnv(),
    warmStart: well(),
    rollout: { context: lastTurns(1) },
  })),
];

export const faultRuns: readonly FaultRun[] = [
  faultRun("mask-off", { fires: ["observation-unmasked"], mayFire: ["learning-stalled"] }, () => ({
    env: copyEnv(),
    policy: unmaskedEngine(policy),
    algorithm: withoutMask(sound),
  })),
  faultRun("hackable-grader", { fires: ["grader-hacking"], mayFire: ["reward-distribution", "echo-trap"] }, () => ({
    env: copyEnv({ hackable: true }),
  })),
  faultRun("pays-by-turn", { fires: ["length-explosion", "loops"], mayFire: aftermath }, () => ({
    env: walkEnv({ paysByTurn: true }),
    warmStart: well(),
    algorithm: grpo({ learningRate: 1e-3 }),
  })),
  faultRun("unknown-tool", { fires: ["tool-hallucination"], mayFire: ["learning-stalled"] }, () => ({
    env: drawerEnv({ hallucinating: true }),
    warmStart: well(),
    steps: 16,
    algorithm: grpo({ learningRate: 1e-4 }),
  })),
  faultRun(
    "impossible-tasks",
    { fires: ["zero-variance", "reward-distribution", "learning-stalled", "sample-efficiency"] },
    () => ({
      env: lock({ secret: "random", digits: 4 }),
      warmStart: shown({ noise: 0 }),
    }),
  ),
  faultRun("crashing-tool", { fires: ["infrastructure-failures"], mayFire: ["learning-stalled"] }, () => ({
    env: drawerEnv({ crashing: true }),
    warmStart: well({ demonstrations: 900, noise: 0.3 }),
  })),
  faultRun("entropy-penalty", { fires: ["entropy-collapse", "echo-trap"], mayFire: aftermath }, () => ({
    env: copyEnv({ misleading: true }),
    algorithm: withEntropyPenalty(grpo({ learningRate: 1e-3, uniformGroups: "keep" })),
  })),
  faultRun("learning-rate-high", { fires: ["zero-variance"], mayFire: aftermath }, () => ({
    env: walkEnv(),
    steps: 60,
    algorithm: grpo({ learningRate: 5e-3, maxGradientNorm: 1e9 }),
  })),
  faultRun("many-epochs", { fires: ["kl-explosion"], mayFire: aftermath }, () => ({
    env: copyEnv(),
    algorithm: grpo({ learningRate: 5e-3, epochs: 8 }),
  })),
  faultRun("weak-penalty", { fires: ["kl-explosion"], mayFire: aftermath }, () => ({
    env: copyEnv({ misleading: true }),
    algorithm: grpo({ learningRate: 2e-3, kl: 1e-4 }),
  })),
  faultRun("narrow-clip", { fires: ["clip-fraction"], mayFire: aftermath }, () => ({
    env: copyEnv(),
    steps: 16,
    algorithm: grpo({ learningRate: 5e-4, epochs: 8, clip: 0.002 }),
  })),
  faultRun("cold-sampler", { fires: ["train-sample-mismatch", "logprob-invariant"], mayFire: aftermath }, () => ({
    env: copyEnv(),
    policy: coldEngine(critical),
    algorithm: soundPpo,
    tasksPerStep: 64,
    steps: 24,
  })),
  faultRun("learning-rate-zero", { fires: ["learning-stalled"] }, () => ({
    env: copyEnv(),
    algorithm: grpo({ learningRate: 0 }),
  })),
  faultRun("overflowing-loss", { fires: ["skipped-updates"], mayFire: ["learning-stalled"] }, () => ({
    env: copyEnv(),
    algorithm: withOverflow(sound),
  })),
  faultRun("idle-critic", { fires: ["value-function"], mayFire: ["learning-stalled"] }, () => ({
    env: copyEnv(),
    policy: critical,
    tasksPerStep: 64,
    warmStart: shown({ noise: 0.4 }),
    algorithm: ppo({ learningRate: 1e-6, valueCoefficient: 0 }),
  })),
];
