import { LudusError } from "../errors.ts";

/**
 * The resolved configuration of a run as JSON: what is stored with it, shown to people, and compared when it is resumed. A run is
 * the same run only as long as this is the same.
 */
export type RunConfig = Readonly<Record<string, unknown>>;

/** A setting with the value that the stored run has and the one that it is resumed with. */
export interface ConfigChange {
  /** Such as `algorithm.optimizer.learningRate`. */
  readonly path: string;
  readonly stored: unknown;
  readonly given: unknown;
}

// bumped when the description gains fields that earlier versions did not store
export const configVersion = 2;

// how long a run is, how it is watched and saved: these change no step that is made, `steps` aside, which schedules depend on
const free = [
  "source",
  "steps",
  "budget",
  "earlyStop",
  "eval",
  "save",
  "concurrency",
  "accept",
  "configVersion",
  "description",
];
const ofTheMoment = [
  "policy.policyVersion",
  "policy.weights",
  "policy.device",
  "policy.implementation",
  "policy.hasAdapters",
  "policy.name",
  "env.description",
];
// with another one of these, steps of one run would be two different experiments
const fixed = [
  "env.name",
  "env.roles",
  "seed",
  "learners",
  "warmStart.name",
  "warmStart.steps",
  "warmStart.run",
  "warmStart.step",
  "warmStart.optimizer",
  "algorithm.name",
  "policy.vocabularySize",
  "policy.contextLength",
  "policy.parameters",
  "policy.hasValues",
];

/**
 * Compares the configuration that a run was stored with and the one it is to be resumed with. Throws where they differ in what
 * cannot change, or in what nobody accepted; returns the accepted changes.
 */
export function checkConfigChange(stored: unknown, given: RunConfig, accept: readonly string[]): ConfigChange[] {
  if (!isRecord(stored)) {
    throw new LudusError("run-incomplete", {
      got: "checkpoints, and no record of the run they belong to",
      expected: "both: the run's store may have been moved or removed",
      hint: "Put the store back beside the checkpoints, or remove them to begin anew.",
    });
  }
  const changes = differences(stored, given).filter(({ path }) => !isWithin(path, [...free, ...ofTheMoment]));
  // a run of an earlier version stored less: what it did not store cannot have changed
  const compared = isCurrent(stored) ? changes : changes.filter((change) => change.stored !== undefined);
  // a whole that is missing on one side is missing its fixed parts
  const isFixed = (path: string) => isWithin(path, fixed) || fixed.some((name) => name.startsWith(`${path}.`));
  const impossible = compared.filter(({ path }) => isFixed(path));
  if (impossible.length > 0) {
    throw new LudusError("other-run", {
      got: `a folder with a run of ${listed(impossible, "stored")}`,
      expected: listed(impossible, "given"),
      hint: "Choose another folder for this run, or resume with the configuration that is stored.",
    });
  }
  const refused = compared.filter(({ path }) => !accept.some((name) => isNamed(path, name)));
  if (refused.length === 0) return compared;
  throw new LudusError("changed-config", {
    got: `a run with ${listed(refused, "stored")}, resumed with ${listed(refused, "given")}`,
    expected: "the configuration that the run was stored with",
    hint: `To resume with the new values: --accept ${refused.map(({ path }) => path).join(",")}, or accept: [${refused
      .map(({ path }) => JSON.stringify(path))
      .join(", ")}] in the configuration.`,
  });
}

/** Whether the stored configuration is to be replaced: also what may change freely is told as it is now. */
export function isOutdated(stored: unknown, given: RunConfig): boolean {
  return differences(stored, given).some(({ path }) => !isWithin(path, ofTheMoment));
}

function isCurrent(stored: unknown): boolean {
  return typeof stored === "object" && stored !== null && "configVersion" in stored;
}

/** Where two JSON values differ, by path. */
export function differences(stored: unknown, given: unknown, path = ""): ConfigChange[] {
  if (isRecord(stored) && isRecord(given)) {
    const keys = [...new Set([...Object.keys(stored), ...Object.keys(given)])];
    return keys.flatMap((key) => differences(stored[key], given[key], path === "" ? key : `${path}.${key}`));
  }
  return JSON.stringify(stored) === JSON.stringify(given) ? [] : [{ path, stored, given }];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isWithin(path: string, names: readonly string[]): boolean {
  return names.some((name) => path === name || path.startsWith(`${name}.`));
}

/** By its whole path, a part of it from the left, or its last names: `learningRate` means any learning rate. */
function isNamed(path: string, name: string): boolean {
  return isWithin(path, [name]) || path.endsWith(`.${name}`);
}

function listed(changes: readonly ConfigChange[], side: "stored" | "given"): string {
  return changes.map((change) => `${change.path} ${JSON.stringify(change[side]) ?? "(none)"}`).join(", ");
}

/** A value as JSON can hold it. Schedules are told by their values, other functions by their names. */
export function toJson(value: unknown): unknown {
  const text = JSON.stringify(value, (key, part: unknown) => {
    if (typeof part === "number" && !Number.isFinite(part)) return String(part);
    if (typeof part !== "function") return part;
    return isSchedule(key) ? scheduleValues(part as (progress: number) => unknown) : `function ${part.name}`.trim();
  });
  return text === undefined ? undefined : JSON.parse(text);
}

function isSchedule(key: string): boolean {
  return ["learningRate", "temperature"].includes(key);
}

function scheduleValues(schedule: (progress: number) => unknown): unknown[] {
  return [0, 0.25, 0.5, 0.75, 1].map((progress) => schedule(progress));
}
