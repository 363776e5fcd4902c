import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { type OptionsFunction, optionsFunctions } from "./option-parameters.ts";

// Node strips types: what the compiler would refuse in a call is refused again when it runs.

/** Last parameters that are no options: what flows, and what users implement, may carry more than its type says. */
const notOptions: Readonly<Record<string, string>> = {
  Trajectory: "a record",
  Rollout: "a record",
  Turn: "a record",
  Search: "a search that a user made",
  TrajectoryGroup: "a record",
  Conversation: "a record",
  FunctionCallingTask: "a record",
  OfficeSkillsTask: "a record",
  NewSkill: "a record: a skill that was loaded has more fields",
  ScoredEpisode: "a record",
  Finding: "a record",
  RecipeResult: "a record",
  Verdict: "a record",
  ServedModel: "a policy that a user made, with a name",
  Algorithm: "an algorithm that a user made; train() refuses its unknown fields",
  SandboxInfo: "a sandbox that a user made",
  CallLimits: "limits of an environment, of which callTool needs two",
};

/** Functions whose last parameter has another shape than fields of its own. */
const exceptions: Readonly<Record<string, string>> = {
  storedFailures: "what it reads from is a store that a user may have made",
  webArenaScore: "how an episode ended",
  LudusError: "whoever reports an error should not get another",
};

/** Tested beside the presets, schemes and losses themselves; tensor/ is sealed. */
const elsewhere = /^src\/(train\/presets|credit|loss|tensor)\//;

let functions: readonly OptionsFunction[];

beforeAll(() => {
  functions = optionsFunctions(process.cwd());
}, 120_000);

const baseType = (type: string) => /^(?:Pick<)?(\w+)/.exec(type)?.[1] ?? type;

test("every public function refuses an option it does not know, and names it", async () => {
  const asked = functions.filter(
    ({ name, source, type }) => !elsewhere.test(source) && !(baseType(type) in notOptions) && !(name in exceptions),
  );
  const accepted: string[] = [];
  for (const each of asked) {
    const said = await refusalOf(each);
    if (said === undefined) continue;
    if (!said.includes('unknown option "bananaSplit"')) accepted.push(`${each.source} ${each.name}: ${said}`);
  }
  expect(accepted).toEqual([]);
  expect(asked.length).toBeGreaterThan(100);
});

test("every exception is still one", () => {
  const types = new Set(functions.map(({ type }) => baseType(type)));
  const names = new Set(functions.map(({ name }) => name));
  expect(Object.keys(notOptions).filter((type) => !types.has(type))).toEqual([]);
  expect(Object.keys(exceptions).filter((name) => !names.has(name))).toEqual([]);
});

/** What it says to an option nobody knows; nothing where it cannot be called from outside. */
async function refusalOf({ module, name, index, isClass }: OptionsFunction): Promise<string | undefined> {
  const exported: Record<string, unknown> = await import(join(process.cwd(), module));
  const called = name.split(".").reduce<unknown>((from, key) => (from as Record<string, unknown>)[key], exported);
  // a class of which only the type is exported
  if (called === undefined) return undefined;
  const args = [...Array<undefined>(index).fill(undefined), { bananaSplit: true }];
  try {
    const made: unknown = isClass ? Reflect.construct(called as new () => unknown, args) : (called as Called)(...args);
    await firstOf(made);
    return "accepted";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

type Called = (...args: unknown[]) => unknown;

/** What a promise gives; of a generator, which does nothing before it is asked, the first value. */
async function firstOf(made: unknown): Promise<unknown> {
  if (typeof made === "object" && made !== null && "next" in made && typeof made.next === "function")
    return made.next();
  return made;
}
