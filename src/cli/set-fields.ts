import { defined } from "../defined.ts";
import { nearest } from "../nearest.ts";
import type { TrainConfig } from "../train/index.ts";
import { type UsageError, usageError } from "./parse-options.ts";

type Kind = "number" | "string" | "list";

const limits = ["turns", "tokens", "turnTokens", "toolMs", "envMs", "episodeMs", "observationChars", "callsPerTurn"];

/** Fields of a configuration that hold plain values, and which. Rates and temperatures may replace a schedule. */
const known: Readonly<Record<string, Kind>> = {
  ...all("number", "", ["steps", "tasksPerStep", "seed"]),
  learners: "list",
  ...all("number", "save.", ["every", "retain", "retainEvery"]),
  ...all("number", "eval.", ["every", "tasks", "attempts", "temperature", "topP", "topK", "seed"]),
  "eval.split": "string",
  ...all("number", "budget.", ["seconds", "tokens"]),
  ...all("number", "earlyStop.", ["success", "window"]),
  ...all("number", "rollout.limits.", limits),
  ...all("number", "eval.limits.", limits),
  ...all("number", "env.limits.", limits),
  ...all("number", "warmStart.", ["steps", "learningRate"]),
  ...all("number", "algorithm.", ["groupSize", "epochs", "miniBatches"]),
  "algorithm.maskStops": "list",
  ...all("number", "algorithm.sampling.", ["temperature", "topP", "topK", "epsilonTool"]),
  ...all("number", "algorithm.optimizer.", ["learningRate", "weightDecay", "beta2", "maxGradientNorm"]),
  "algorithm.critic.kind": "string",
  ...all("number", "algorithm.critic.", ["learningRate", "pretrainSteps"]),
};

/** Objects that begin empty where the configuration has none; the rest must be there to have fields. */
const optional = ["save", "eval", "eval.limits", "budget", "earlyStop", "rollout", "rollout.limits"];

/** Functions, and what is made of them: their settings went in when they were made. */
const opaque = [
  ...["policy", "guide", "replay", "monitors", "now", "signal", "rollout.format", "rollout.context"],
  ...["eval.format", "eval.context", "eval.onRollout", "warmStart.prepare", "warmStart.loss"],
  ...[
    "algorithm.filter",
    "algorithm.credit",
    "algorithm.loss",
    "algorithm.learnFrom",
    "algorithm.targetsOf",
    "algorithm.klInReward",
  ],
];

function all(kind: Kind, prefix: string, names: readonly string[]): Record<string, Kind> {
  return Object.fromEntries(names.map((name) => [`${prefix}${name}`, kind]));
}

/** A copy of a configuration with fields set as in `algorithm.groupSize=4`. */
export function setFields(config: TrainConfig, settings: readonly string[]): TrainConfig {
  // every path is a plain field of the type, and every value was read by its kind
  return settings.reduce<object>((changed, setting) => setField(changed, setting), config) as TrainConfig;
}

function setField(config: object, setting: string): object {
  const equals = setting.indexOf("=");
  if (equals <= 0) {
    throw usageError("bad-set", { got: `--set ${setting}`, expected: "path=value", hint: "As in --set steps=10." });
  }
  const [path, text] = [setting.slice(0, equals).trim(), setting.slice(equals + 1).trim()];
  const kind = Object.hasOwn(known, path) ? known[path] : undefined;
  if (kind === undefined) throw unknownField(path, config);
  return withField(config, path.split("."), readValue(path, text, kind), []);
}

function unknownField(path: string, config: object): UsageError {
  const paths = Object.keys(known).filter((other) => isReachable(other, config));
  const within = opaque.find((root) => path === root || path.startsWith(`${root}.`));
  if (path === "run") return usageError("unknown-field", { got: path, expected: "--run <dir>" });
  if (within !== undefined) {
    return usageError("not-a-field", {
      got: `${path}, though \`${within}\` is a function or made of functions`,
      expected: "a field with a plain value",
      hint: "Change it in the file.",
    });
  }
  const [first, last] = [path.split(".")[0], path.split(".").at(-1)!];
  const sameName = paths.filter((other) => other.split(".").at(-1) === last);
  const meant = nearest(path, paths) ?? sameName.find((other) => other.startsWith(`${first}.`)) ?? sameName[0];
  return usageError("unknown-field", {
    got: `"${path}"`,
    expected: meant === undefined ? `one of ${paths.join(", ")}` : "a field of the configuration",
    ...defined({ hint: meant !== undefined ? `Did you mean "${meant}"?` : undefined }),
  });
}

/** Whether all that the field is in is there, or would be made. */
function isReachable(path: string, config: object): boolean {
  let [here, at]: [unknown, string[]] = [config, []];
  for (const name of path.split(".").slice(0, -1)) {
    at = [...at, name];
    here = typeof here === "object" && here !== null ? Reflect.get(here, name) : undefined;
    if (here === undefined && !optional.includes(at.join("."))) return false;
  }
  return true;
}

function readValue(path: string, text: string, kind: Kind): unknown {
  if (kind === "string") return text;
  if (kind === "number" && text !== "" && Number.isFinite(Number(text))) return Number(text);
  const list = kind === "list" ? parsedList(text) : undefined;
  if (list !== undefined) return list;
  const expected = kind === "number" ? "a number" : 'a JSON list, as in ["policy"]';
  throw usageError("bad-set", { got: `--set ${path}=${text}`, expected });
}

function parsedList(text: string): readonly string[] | undefined {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((each) => typeof each === "string") ? list : undefined;
  } catch {
    return undefined;
  }
}

function withField(
  object: object,
  [name, ...rest]: readonly string[],
  value: unknown,
  above: readonly string[],
): object {
  if (name === undefined) return object;
  const here = [...above, name];
  if (rest.length === 0) return { ...object, [name]: value };
  const path = here.join(".");
  const inner: unknown = Reflect.get(object, name) ?? (optional.includes(path) ? {} : undefined);
  if (typeof inner === "object" && inner !== null && isPlain(inner)) {
    return { ...object, [name]: withField(inner, rest, value, here) };
  }
  throw usageError("not-a-field", {
    got: `${[...here, ...rest].join(".")}, and a configuration ${inner === undefined ? "without" : "with its own kind of"} \`${path}\``,
    expected: `\`${path}\` as a plain object`,
    hint: "Change it in the file.",
  });
}

/** Copying an instance of a class would lose its methods. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
