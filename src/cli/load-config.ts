import { LudusError } from "../errors.ts";
import type { TrainConfig } from "../train/index.ts";
import { isWorld } from "./load-env.ts";
import { loadModule } from "./load-module.ts";

/** What a module exports as `config`: a `TrainConfig`, or a function that returns one. */
export async function loadConfig(file: string): Promise<TrainConfig> {
  const exported = await loadModule(file);
  if (!("config" in exported)) {
    throw new LudusError("no-config-in-file", {
      got: `${file} with ${Object.keys(exported).join(", ") || "no exports"}`,
      expected: "a training configuration, exported as `config`",
      hint: "export const config: TrainConfig = { env, policy: fromScratch(), algorithm: grpo(), steps: 100 };",
    });
  }
  const config: unknown = typeof exported.config === "function" ? await exported.config() : exported.config;
  const missing = missingFields(config);
  // what else can be wrong is said by the trainer
  if (missing.length === 0) return config as TrainConfig;
  throw new LudusError("bad-config", {
    got: `${file}, whose \`config\` has no usable ${missing.join(", ")}`,
    expected: "`env`, `policy`, `algorithm` and `steps`",
    hint: "Write `config: TrainConfig` to have them checked as you type.",
  });
}

function missingFields(config: unknown): string[] {
  if (!isObject(config)) return ["env", "policy", "algorithm", "steps"];
  const { env, policy, algorithm, steps } = config;
  const isThere = {
    env: isWorld(env),
    policy: typeof policy === "function" || (isObject(policy) && isObject(policy.engine) && isObject(policy.renderer)),
    algorithm: isObject(algorithm) && ["name", "credit", "loss", "filter"].every((field) => field in algorithm),
    steps: typeof steps === "number",
  };
  return Object.entries(isThere).flatMap(([field, isRight]) => (isRight ? [] : [field]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
