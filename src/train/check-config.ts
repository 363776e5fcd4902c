import type { EngineInfo } from "../engine/engine.ts";
import type { EngineLack } from "../engine/engine-lack.ts";
import { LudusError } from "../errors.ts";
import type { World } from "../rollout/world.ts";
import type { Algorithm } from "./algorithm.ts";
import { checkAsync } from "./async/async-options.ts";
import { refuseUnknownSettings } from "./known-config.ts";
import type { LearningPolicy } from "./learning-policy.ts";
import { isFromRun } from "./parent.ts";
import { scheduleAt } from "./schedule.ts";
import { noValues } from "./stages/measure.ts";
import type { TrainConfig } from "./train.ts";
import { weightsOf } from "./weights.ts";

/** What can be wrong with a configuration is said before the first rollout. */
export function checkConfig<Data>(config: TrainConfig<Data>): void {
  const { steps, tasksPerStep = 16, algorithm, env, save, eval: evaluation, earlyStop } = config;
  refuseUnknownSettings(config);
  checkWorld(env);
  whole("steps", steps, 0);
  whole("tasksPerStep", tasksPerStep, 1);
  whole("concurrency", config.concurrency, 1);
  whole("save.every", save?.every, 1);
  whole("save.retain", save?.retain, 1);
  whole("save.retainEvery", save?.retainEvery, 1);
  whole("eval.every", evaluation?.every, 1);
  whole("eval.tasks", evaluation?.tasks, 0);
  whole("eval.retainEpisodes", evaluation?.retainEpisodes, 0);
  whole("earlyStop.window", earlyStop?.window, 1);
  if (config.warmStart !== undefined && isFromRun(config.warmStart) && config.warmStart.steps !== 0) {
    throw new LudusError("bad-config", {
      got: `warmStart.steps = ${config.warmStart.steps} with fromRun()`,
      expected: "imitate(): the weights of another run take no steps",
    });
  }
  checkAsync(config.async, tasksPerStep);
  checkAlgorithm(algorithm);
  if (algorithm.credit.needs.stateKeys === true && !env.hasStateKeys) {
    throw new LudusError("no-state-keys", {
      got: `${algorithm.name} in ${env.name}, which does not name its states`,
      expected: "an environment with `stateKey`",
      hint: "grpo() is the same without comparing states.",
    });
  }
}

const worldFields = ["name", "tasks", "roles", "limits", "format", "attempt", "sampleTexts"] as const;

/** Types promise these; an environment that is written by hand in JavaScript, or spread from a class, may lack some. */
function checkWorld(env: Partial<World> | undefined): void {
  const missing = worldFields.filter((field) => env?.[field] === undefined);
  if (missing.length === 0) return;
  throw new LudusError("bad-config", {
    got: env === undefined ? "no `env`" : `an \`env\` without ${missing.join(", ")}`,
    expected: "an environment",
    hint: "defineEnv({ … }) and agentEnv({ … }) make one; `World` says what one by hand needs.",
  });
}

function checkAlgorithm(algorithm: Algorithm): void {
  const { name, groupSize, epochs, miniBatches, credit, loss, critic } = algorithm;
  whole("groupSize", groupSize, 1);
  whole("epochs", epochs, 1);
  whole("miniBatches", miniBatches, 1);
  if (needsValues(algorithm) && critic === undefined) {
    throw new LudusError("no-critic", {
      got: `${name}, whose credit or loss needs values, without a critic`,
      expected: "`critic` in the algorithm",
    });
  }
  if (credit.needs.weights === true && algorithm.weigh === undefined) {
    throw new LudusError("bad-config", {
      got: `${name}, whose credit needs weights of tokens, without \`weigh\``,
      expected: "`weigh` in the algorithm",
    });
  }
  if (critic?.kind === "shared" && critic.pretrainSteps > 0) {
    throw new LudusError("bad-config", {
      got: `${critic.pretrainSteps} steps of training a shared critic first`,
      expected: 'a critic of kind "separate"',
      hint: "A shared critic has the policy's own weights: it cannot learn while the policy does not.",
    });
  }
  if (loss.needs.pairs === true) {
    const hint = "Make pairs of what was rolled out and learn from them with trainOffline().";
    throw new LudusError("bad-config", { got: `${loss.name}, a loss of pairs`, expected: "a loss of rollouts", hint });
  }
  if (groupSize === 1 && algorithm.filter(1).needs.contrast && credit.needs.greedyBaseline !== true) {
    throw new LudusError("group-too-small", {
      got: `groupSize 1 with ${name}, which compares the attempts of a group`,
      expected: "2 or more",
      hint: "ppo(), reinforcePlusPlus() and remax() learn from single attempts.",
    });
  }
}

/** What can only be said once the policy is there. */
export function checkPolicy<Data>(config: TrainConfig<Data>, policy: LearningPolicy): void {
  const { env, learners, algorithm } = config;
  if (needsValues(algorithm) && !policy.engine.info.hasValues) throw noValues();
  checkLacks(algorithm, policy.engine.info);
  const known = env.roles.map((role) => weightsOf(policy, role));
  const unknown = learners?.find((name) => !known.includes(name));
  if (unknown === undefined && learners?.length !== 0) return;
  throw new LudusError("bad-config", {
    got: unknown === undefined ? "no learners" : `learner "${unknown}", with which no role of ${env.name} speaks`,
    expected: `one or more of ${[...new Set(known)].join(", ")}`,
    hint: "Which weights a role speaks with is said in `weights` of the policy.",
  });
}

/** What an engine says it cannot do is refused before the first rollout, and not where it is first asked for. */
function checkLacks({ name, loss, sampling }: Algorithm, { name: engine, lacks = [] }: EngineInfo): void {
  const { temperature, topP = 1, topK } = sampling;
  const isOther = [0, 0.5, 1].some((progress) => scheduleAt(temperature, progress) !== 1);
  const wanted: [EngineLack, boolean, string][] = [
    ["entropies", loss.needs.entropies === true, "a loss that needs entropies, such as an entropy bonus"],
    ["temperatures", isOther, "a temperature other than 1"],
    ["cuts", topP < 1 || topK !== undefined, "top-p or top-k"],
  ];
  const asked = wanted.find(([lack, isAsked]) => isAsked && lacks.includes(lack));
  if (asked === undefined) return;
  throw new LudusError("engine-lacks", {
    got: `${name} with ${asked[2]}, on the engine ${engine}, which lacks ${asked[0]}`,
    expected: "an algorithm without it, or another engine",
    hint: "The embedded engine and PyTorch lack nothing.",
  });
}

function needsValues({ credit, loss }: Algorithm): boolean {
  return credit.needs.values === true || loss.needs.values === true;
}

function whole(name: string, value: number | undefined, least: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= least)) return;
  throw new LudusError("bad-config", { got: `${name} = ${value}`, expected: `a whole number of at least ${least}` });
}
