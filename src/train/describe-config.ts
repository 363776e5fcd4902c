import { sandboxesOf } from "../reward/make-reward.ts";
import { defaultSandbox } from "../tool/sandbox/default-sandbox.ts";
import { sandboxInfo } from "../tool/sandbox/require-level.ts";
import type { Algorithm } from "./algorithm.ts";
import type { LearningPolicy } from "./learning-policy.ts";
import { isFromRun, type Parent } from "./parent.ts";
import { configVersion, type RunConfig, toJson } from "./run-config.ts";
import type { TrainConfig } from "./train.ts";

/** The resolved configuration: defaults filled in, functions named, schedules told by their values. */
export function describeConfig<Data>(
  config: TrainConfig<Data>,
  { policy, guide, parent }: { policy: LearningPolicy; guide: string; parent?: Parent },
): RunConfig {
  const { env, algorithm, warmStart, guide: _guide, policy: _policy, run: _run, ...rest } = config;
  const { monitors: _monitors, signal: _signal, now: _now, accept: _accept, store: _store, ...settings } = rest;
  const { name, description, limits, roles, format } = env;
  // where code is run to score it, which may be elsewhere than tools
  const scoring = "score" in env ? sandboxesOf(env.score) : [];
  return {
    configVersion,
    ...(toJson({
      env: {
        name,
        description,
        limits,
        roles,
        format: (config.rollout?.format ?? format).name,
        ...(scoring.length > 0 && { scoring }),
      },
      policy: { ...policy.engine.info },
      algorithm: {
        ...algorithm,
        credit: algorithm.credit.name,
        loss: algorithm.loss.name,
        options: ownOptions(algorithm),
      },
      warmStart:
        warmStart === undefined || isFromRun(warmStart)
          ? warmStart
          : { ...warmStart, cache: undefined, loss: warmStart.loss.name },
      parent,
      guide,
      tasksPerStep: config.tasksPerStep ?? 16,
      seed: config.seed ?? 0,
      ...settings,
      sandbox: sandboxInfo(config.sandbox ?? defaultSandbox()),
    }) as RunConfig),
  };
}

/** Options of a preset that are not told by other fields of the algorithm. */
function ownOptions({ options = {}, optimizer, sampling, ...rest }: Algorithm): Readonly<Record<string, unknown>> {
  const told = new Set([...Object.keys(rest), ...Object.keys(optimizer), ...Object.keys(sampling)]);
  return Object.fromEntries(Object.entries(options).filter(([name]) => !told.has(name)));
}
