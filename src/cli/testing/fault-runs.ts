import { truncateSync } from "node:fs";
import { join } from "node:path";
import { Checkpoints } from "../../checkpoint/checkpoints.ts";
import { lock } from "../../env/environments/lock.ts";
import { lastTurns } from "../../rollout/context.ts";
import {
  cosine,
  fromScratch,
  grpo,
  type ImitateOptions,
  imitate,
  ppo,
  type TrainConfig,
  type TrainResult,
  train,
} from "../../train/index.ts";
import { copyEnv, drawerEnv, failingFrom, walkEnv } from "./fault-environments.ts";
import { coldEngine, unmaskedEngine, withEntropyPenalty, withOverflow, withoutMask } from "./fault-policies.ts";

/** A short training, and what the doctor must say of it. */
export interface FaultRun {
  readonly name: string;
  /** Codes of errors and warnings that must be found; none of a sound run. */
  readonly fires: readonly string[];
  /** Further ones that may be: they follow from the fault. */
  readonly mayFire: readonly string[];
  /** The run ends with this error. */
  readonly throws?: string;
  /** Damages what the run left. */
  readonly damage?: (run: string) => void;
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
  ...["clip-fraction", "kl-explosion", "learning-rate", "loops", "grader-hacking"],
];

function faultRun<Data>(
  name: string,
  { fires = [], mayFire = [], ...more }: Partial<Omit<FaultRun, "name" | "start">>,
  config: () => Changes<Data>,
): FaultRun {
  return {
    name,
    fires,
    mayFire,
    ...more,
    start: (run, changes = {}) =>
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
        ...changes,
      }),
  };
}

function truncateLastCheckpoint(run: string): void {
  const checkpoints = new Checkpoints(run);
  truncateSync(join(checkpoints.directory(checkpoints.steps().at(-1)!), "model.safetensors"), 1000);
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
  // as the quickstart, in small: look something up, then answer. They end with most tasks solved and a fifth of the entropy
  ...[0, 1, 2].map((seed) =>
    faultRun(`sound-quickstart-${seed}`, {}, () => ({
      env: drawerEnv(),
      warmStart: well({ noise: 0.45 }),
      algorithm: grpo({ groupSize: 8, learningRate: cosine(8e-4, 0.1) }),
      steps: 60,
      seed,
    })),
  ),
  // rollouts of several rows each; demonstrations saw the whole context, so that it does not learn well
  faultRun("cut-context", { mayFire: ["zero-variance", "echo-trap", "learning-stalled"] }, () => ({
    env: walkEnv(),
    warmStart: well(),
    rollout: { context: lastTurns(1) },
  })),
];

export const faultRuns: readonly FaultRun[] = [
  faultRun(
    "everything-crashes",
    {
      fires: ["everything-crashed"],
      // of the step in which it began, some attempts were still played
      mayFire: ["infrastructure-failures"],
      throws: "everything-crashed",
    },
    () => ({
      // the warm start, an evaluation and some steps are made
      env: failingFrom(copyEnv(), 300 + 64 + 700),
    }),
  ),
  faultRun("damaged-checkpoint", { fires: ["checkpoint-damaged"], damage: truncateLastCheckpoint }, () => ({
    env: copyEnv(),
    steps: 6,
    save: { every: 3, retain: 5 },
  })),
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
  faultRun("learning-rate-high", { fires: ["zero-variance", "learning-rate"], mayFire: aftermath }, () => ({
    env: walkEnv(),
    steps: 60,
    algorithm: grpo({ learningRate: 5e-3, maxGradientNorm: 1e9 }),
  })),
  faultRun(
    "short-warm-start",
    {
      fires: ["warm-start"],
      mayFire: ["zero-variance", "learning-stalled", "reward-distribution", "sample-efficiency"],
    },
    () => ({ env: copyEnv(), warmStart: shown({ steps: 15 }) }),
  ),
  // what is shown is wrong, and learned too well to try anything else
  faultRun("narrow-warm-start", { fires: ["warm-start", "zero-variance"], mayFire: aftermath }, () => ({
    env: copyEnv({ misleading: true }),
    warmStart: shown({ noise: 0, steps: 150 }),
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
