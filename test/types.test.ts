import { beforeAll, describe, expect, test } from "vitest";
import { checkTypes } from "./docs/check-types.ts";

// What a user writes wrongly is refused by the compiler, in words that name what was written and, where it can, what was meant.
const before = `import { dapo, defineEnv, fromScratch, generated, grpo, imitate, makeScore, rloo, train, z } from "ludus";
import { composite, exactMatch } from "ludus/reward";
const tasks = generated((rng) => ({ sum: rng.integer(9) }));
const start = () => ({ state: { reads: 0 }, say: "?" });
`;

const inTool = (run: string) =>
  `defineEnv({ name: "a", tasks, start, tools: (tool) => ({ read: tool({ input: z.object({ page: z.string() }), run: ${run} }) }) })`;

/** A program, and what the compiler must say of it; nothing else may be wrong with it. */
const cases: Readonly<Record<string, readonly [program: string, said: string]>> = {
  "an argument that a tool does not have": [
    inTool("({ pgae }) => pgae"),
    "Property 'pgae' does not exist on type '{ page: string; }'.",
  ],
  "an argument of another type": [
    inTool("({ page }) => page.toFixed()"),
    "Property 'toFixed' does not exist on type 'string'.",
  ],
  "a field the state does not have, in a tool": [
    inTool("(_, { state }) => state.raeds"),
    "Property 'raeds' does not exist on type '{ reads: number; }'. Did you mean 'reads'?",
  ],
  "a field the state does not have, in act": [
    'defineEnv({ name: "a", tasks, start, act: ({ state }) => ({ say: String(state.raeds) }) })',
    "Property 'raeds' does not exist on type '{ reads: number; }'. Did you mean 'reads'?",
  ],
  "a field the state does not have, in score": [
    'defineEnv({ name: "a", tasks, start, score: ({ state }) => state.raeds })',
    "Property 'raeds' does not exist on type '{ reads: number; }'. Did you mean 'reads'?",
  ],
  "a field the task does not have": [
    'defineEnv({ name: "a", tasks, start, score: ({ task }) => task.total })',
    "Property 'total' does not exist on type '{ sum: number; }'.",
  ],
  "a part of the score that is no number": [
    'defineEnv({ name: "a", tasks, start, score: ({ task, answer }) => ({ outcome: answer === String(task.sum) }) })',
    "Type 'boolean' is not assignable to type 'number'.",
  ],
  "a part of a whole score that is no number": [
    'makeScore({ outcome: "1" })',
    "Type 'string' is not assignable to type 'number'.",
  ],
  "a reward for other tasks": [
    'defineEnv({ name: "a", tasks, start, score: composite({ outcome: exactMatch((task: { gold: string }) => task.gold) }) })',
    "Property 'gold' is missing in type '{ sum: number; }' but required in type '{ gold: string; }'.",
  ],
  "a part that a reward does not have": [
    'composite({ right: exactMatch((task: { gold: string }) => task.gold) }, { outcome: "rihgt" })',
    `Type '"rihgt"' is not assignable to type '"right"'.`,
  ],
  "a field an environment does not have": [
    'defineEnv({ name: "a", tasks, start, tols: {} })',
    "'tols' does not exist in type 'EnvDefinition<{ sum: number; }, { reads: number; }, Readonly<Record<string, Tool<{ reads: number; }, unknown>>>>'. Did you mean to write 'tools'?",
  ],
  "a limit there is not": [
    'defineEnv({ name: "a", tasks, start, limits: { trns: 4 } })',
    "'trns' does not exist in type 'Partial<Limits>'. Did you mean to write 'turns'?",
  ],
  "a start without a state": [
    'defineEnv({ name: "a", tasks, start: () => ({ say: "?" }) })',
    "Property 'state' is missing in type '{ say: string; }' but required in type 'Start<unknown>'.",
  ],
  "a misspelt option of a preset": [
    "grpo({ grupSize: 8 })",
    "'grupSize' does not exist in type 'Partial<GrpoOptions>'. Did you mean to write 'groupSize'?",
  ],
  "an option of another preset": [
    "grpo({ clipHigh: 0.28 })",
    "'clipHigh' does not exist in type 'Partial<GrpoOptions>'.",
  ],
  "a penalty where there is no reference": ["dapo({ kl: 0.1 })", "'kl' does not exist in type 'Partial<DapoOptions>'."],
  "a critic where there is none": ["rloo({ critic: true })", "'critic' does not exist in type 'Partial<RlooOptions>'."],
  "a choice there is not": [
    'grpo({ uniformGroups: "drop" })',
    `Type '"drop"' is not assignable to type '"keep" | "skip" | undefined'.`,
  ],
  "a misspelt option of the warm start": [
    "imitate({ stpes: 4 })",
    "'stpes' does not exist in type 'Partial<ImitateOptions>'. Did you mean to write 'steps'?",
  ],
  "a misspelt field of a run": [
    'train({ env: defineEnv({ name: "a", tasks, start }), policy: fromScratch(), algorithm: grpo(), setps: 4 })',
    "'setps' does not exist in type 'TrainConfig<unknown>'. Did you mean to write 'steps'?",
  ],
};

const maxLines = 6;
const names = Object.keys(cases);
let said: readonly string[];

beforeAll(async () => {
  const pages = Object.values(cases).map(([program], index) => ({
    path: `case-${index}`,
    text: "",
    prose: "",
    blocks: [{ language: "ts", info: "", line: 1, text: `${before}export const made = ${program};` }],
  }));
  const { problems } = await checkTypes(pages);
  const all = problems.trim().split(/\n(?=case-)/);
  said = pages.map(({ path }) => all.filter((problem) => problem.startsWith(`${path}/`)).join("\n"));
}, 120_000);

describe("the compiler refuses", () => {
  test.each(names)("%s", (name) => {
    const message = said[names.indexOf(name)];
    expect(message).toContain(cases[name][1]);
    expect(message.match(/error TS/g)).toHaveLength(1);
    expect(message.split("\n").length).toBeLessThanOrEqual(maxLines);
  });
});
