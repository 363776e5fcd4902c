import { defined } from "../defined.ts";
import { nearest } from "../nearest.ts";
import { infrastructureStops, policyStops, type StopReason } from "../schema/index.ts";
import type { StepRange, TrajectoryFilter } from "../store/index.ts";
import { type UsageError, usageError } from "./parse-options.ts";

const stops: readonly StopReason[] = [...policyStops, ...infrastructureStops];

type Reader = (text: string, given: string) => TrajectoryFilter;

const readers: Readonly<Record<string, Reader>> = {
  success: (text, given) => ({ success: oneOf(["true", "false"], text, given) === "true" }),
  guided: (text, given) => ({ annotations: { hint: oneOf(["true", "false"], text, given) === "true" } }),
  stop: (text, given) => ({ stop: oneOf(stops, text, given) }),
  reward: (text, given) => ({ reward: namedEnds(range(text, given, /^-?[\d.]+(e-?\d+)?$/i), "min", "max") }),
  step: (text, given) => ({ steps: namedEnds(range(text, given, /^\d+$/), "from", "to") }),
  tool: (tool) => ({ tool }),
  task: (taskId) => ({ taskId }),
  rollout: (rollout) => ({ rollout }),
  role: (role) => ({ role }),
  split: (split) => ({ split }),
  text: (text) => ({ text }),
};

/** Conditions such as `success=true` and `reward=0.5..`, which must all hold. */
export function readWhere(conditions: readonly string[]): TrajectoryFilter {
  return Object.assign({}, ...conditions.map(readCondition));
}

function readCondition(given: string): TrajectoryFilter {
  const equals = given.indexOf("=");
  const [name, text] = equals < 0 ? [given, undefined] : [given.slice(0, equals).trim(), given.slice(equals + 1)];
  const read = Object.hasOwn(readers, name) ? readers[name] : undefined;
  if (read !== undefined && text !== undefined) return read(text, given);
  const meant = nearest(name, Object.keys(readers));
  throw badWhere(given, `one of ${Object.keys(readers).join(", ")}, then = and a value`, meant);
}

function oneOf<Value extends string>(values: readonly Value[], text: string, given: string): Value {
  const found = values.find((value) => value === text);
  if (found !== undefined) return found;
  throw badWhere(given, `one of ${values.join(", ")}`, nearest(text, values));
}

/** `a..b`, `a..`, `..b`, or `a` for both ends. */
function range(text: string, given: string, pattern: RegExp): readonly [number | undefined, number | undefined] {
  const ends = text.includes("..") ? text.split("..") : [text, text];
  const isRight =
    ends.length === 2 && ends.some((end) => end !== "") && ends.every((end) => end === "" || pattern.test(end));
  if (!isRight) throw badWhere(given, "a value, or a range such as 2..5, 2.. or ..5", undefined);
  const [low, high] = ends.map((end) => (end === "" ? undefined : Number(end)));
  return [low, high];
}

function namedEnds<Low extends string, High extends string>(
  [low, high]: readonly [number | undefined, number | undefined],
  lowName: Low,
  highName: High,
): { [Name in Low | High]?: number } {
  const ends = {
    ...defined({ [lowName]: low, [highName]: high }),
  };
  return ends as { [Name in Low | High]?: number };
}

function badWhere(given: string, expected: string, meant: string | undefined): UsageError {
  const hint = meant === undefined ? {} : { hint: `Did you mean "${meant}"?` };
  return usageError("bad-where", { got: `--where ${given}`, expected, ...hint });
}

/** The range of steps alone, for what has no episodes. */
export function onlySteps({ steps, ...others }: TrajectoryFilter, format: string): StepRange {
  if (Object.keys(others).length === 0) return steps ?? {};
  throw usageError("bad-where", {
    got: `--where ${Object.keys(others).join(", ")} with --format ${format}`,
    expected: "conditions of episodes only where episodes are exported",
    hint: "Metrics have steps: --where step=10..20.",
  });
}
