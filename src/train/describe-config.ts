import type { LearningPolicy } from "./learning-policy.ts";
import type { RunIdentity } from "./run-folder.ts";
import type { TrainConfig } from "./train.ts";

/** The configuration as JSON can hold it, for people and viewers; functions are named, not kept. */
export function describeConfig<Data, State>(config: TrainConfig<Data, State>, policy: LearningPolicy): unknown {
  const { env, algorithm, warmStart, monitors: _monitors, signal: _signal, policy: _policy, guide, ...rest } = config;
  const { name, description, limits, roles, format } = env;
  return toJson({
    env: { name, description, limits, roles, format: format.name },
    policy: { ...policy.engine.info },
    algorithm: { ...algorithm, credit: algorithm.credit.name, loss: algorithm.loss.name },
    warmStart: warmStart === undefined ? undefined : { name: warmStart.name, steps: warmStart.steps },
    guide: guide === undefined ? "in-order" : guide.name,
    ...rest,
  });
}

/** What must be the same for a run to be resumed: with other numbers of warm-up steps, steps would mean something else. */
export function identityOf<Data, State>({
  env,
  algorithm,
  seed = 0,
  warmStart,
}: TrainConfig<Data, State>): RunIdentity {
  return { env: env.name, algorithm: algorithm.name, seed, warmStartSteps: warmStart?.steps ?? 0 };
}

export function toJson(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_key, part) => (typeof part === "function" ? `function ${part.name}`.trim() : part)),
  );
}
