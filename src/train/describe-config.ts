import type { LearningPolicy } from "./learning-policy.ts";
import { configVersion, type RunConfig, toJson } from "./run-config.ts";
import type { TrainConfig } from "./train.ts";

/** The resolved configuration: defaults filled in, functions named, schedules told by their values. */
export function describeConfig<Data>(config: TrainConfig<Data>, policy: LearningPolicy): RunConfig {
  const { env, algorithm, warmStart, guide, policy: _policy, run: _run, ...rest } = config;
  const { monitors: _monitors, signal: _signal, now: _now, accept: _accept, ...settings } = rest;
  const { name, description, limits, roles, format } = env;
  return {
    configVersion,
    ...(toJson({
      env: { name, description, limits, roles, format: format.name },
      policy: { ...policy.engine.info },
      algorithm: { ...algorithm, credit: algorithm.credit.name, loss: algorithm.loss.name },
      warmStart: warmStart === undefined ? undefined : { ...warmStart, loss: warmStart.loss.name },
      guide: guide === undefined ? "in-order" : guide.name,
      tasksPerStep: config.tasksPerStep ?? 16,
      seed: config.seed ?? 0,
      ...settings,
    }) as RunConfig),
  };
}
