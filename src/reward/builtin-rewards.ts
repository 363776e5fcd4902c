import { z } from "zod";
import { defined } from "../defined.ts";
import { parseWith } from "../schema/parse-with.ts";
import type { JsonValue } from "../scorer/json-value.ts";
import { agentR1 } from "./agent-r1.ts";
import { codeTests } from "./code-tests.ts";
import { countdownReward } from "./countdown-reward.ts";
import { exactMatch } from "./exact-match.ts";
import { f1 } from "./f1.ts";
import { format } from "./format.ts";
import { math } from "./math.ts";
import { pointInBox } from "./point-in-box.ts";
import { ragenFormat } from "./ragen-format.ts";
import { reSearch } from "./re-search.ts";
import { reft } from "./reft.ts";
import type { Reward } from "./reward.ts";
import { searchR1, searchR1Format } from "./search-r1.ts";
import { substringMatch } from "./substring-match.ts";
import { sweRl } from "./swe-rl.ts";
import { toolRl } from "./tool-rl.ts";
import { uiR1 } from "./ui-r1.ts";

/** A reward that needs nothing but a task of the right fields, as tasks from files have them. */
export interface BuiltinReward {
  /** One line, for a list. */
  readonly description: string;
  /** The fields of the task that it reads. */
  readonly fields: readonly string[];
  make(): Reward;
}

const Answer = z.object({ answer: z.union([z.string(), z.array(z.string()).min(1)]) });
const OneAnswer = z.object({ answer: z.string() });
const Puzzle = z.object({ numbers: z.array(z.number()).min(1), target: z.number() });
const Box = z.tuple([z.number(), z.number(), z.number(), z.number()]);
const Boxed = z.object({ box: Box });
const UiStep = z
  .object({ action: z.string(), box: Box.optional() })
  .transform(({ action, box }) => ({ action, ...defined({ box }) }));
const Change = z.object({ files: z.record(z.string(), z.string()), goldFiles: z.record(z.string(), z.string()) });
const Json: z.ZodType<JsonValue> = z.json();
const Calls = z.object({
  calls: z.array(z.object({ name: z.string(), parameters: z.record(z.string(), Json) })),
  responds: z.boolean().default(false),
});
const Test = z
  .object({ name: z.string(), expression: z.string(), expected: Json.optional() })
  .transform(({ expected, ...test }) => ({ ...test, ...defined({ expected }) }));
const Tests = z.object({ tests: z.array(Test).min(1) });

const read =
  <Value>(schema: z.ZodType<Value>) =>
  (task: unknown): Value =>
    parseWith(schema, task, "a task", "bad-task");
const answers = (task: unknown) => read(Answer)(task).answer;
const answer = (task: unknown) => read(OneAnswer)(task).answer;

/** The rewards that the command line knows, by name. */
export const builtinRewards = {
  "exact-match": {
    description: "1 for a gold answer in SQuAD's normal form",
    fields: ["answer"],
    make: () => exactMatch(answers),
  },
  "substring-match": {
    description: "1 for an answer that holds a gold one",
    fields: ["answer"],
    make: () => substringMatch(answers),
  },
  f1: { description: "F1 of the words of the answer", fields: ["answer"], make: () => f1(answers) },
  math: { description: "1 for the gold answer in the last \\boxed{}", fields: ["answer"], make: () => math(answer) },
  reft: { description: "ReFT: 1, or 0.1 for any boxed answer", fields: ["answer"], make: () => reft(answer) },
  "search-r1": { description: "Search-R1: exact match of <answer>", fields: ["answer"], make: () => searchR1(answers) },
  "search-r1-format": {
    description: "Search-R1 v0.3: exact match, structure and retrieval",
    fields: ["answer"],
    make: () => searchR1Format(answers),
  },
  "re-search": {
    description: "ReSearch: F1 of the boxed answer, 0.1 for the format alone",
    fields: ["answer"],
    make: () => reSearch(answers),
  },
  "agent-r1": { description: "Agent-R1: format and answer, -1 to 1", fields: ["answer"], make: () => agentR1(answers) },
  countdown: {
    description: "TinyZero's Countdown: 1, or 0.1 for any <answer>",
    fields: ["numbers", "target"],
    make: () => countdownReward(read(Puzzle)),
  },
  "countdown-ragen": {
    description: "RAGEN's Countdown: 1, or 0.1 for the right numbers",
    fields: ["numbers", "target"],
    make: () => countdownReward(read(Puzzle), { rule: "ragen" }),
  },
  "code-tests": {
    description: "Share of the JavaScript tests that the answer passes",
    fields: ["tests"],
    make: () => codeTests({ tests: (task) => read(Tests)(task).tests }),
  },
  "code-rl": {
    description: "CodeRL: -1 does not compile, -0.6 throws, -0.3 fails a test, 1 passes all",
    fields: ["tests"],
    make: () => codeTests({ tests: (task) => read(Tests)(task).tests, credit: "code-rl" }),
  },
  "tool-rl": {
    description: "ToolRL: format and correctness of the calls, -3 to 4",
    fields: ["calls", "responds"],
    make: () => toolRl(read(Calls)),
  },
  "swe-rl": {
    description: "SWE-RL: likeness to the gold patch, -1 for a broken format",
    fields: ["files", "goldFiles"],
    make: () => sweRl(read(Change)),
  },
  "point-in-box": {
    description: "1 for a click in the box",
    fields: ["box"],
    make: () => pointInBox({ box: (task) => read(Boxed)(task).box }),
  },
  "ui-r1": {
    description: "UI-R1: the action's type, point and format, 0 to 3",
    fields: ["action", "box"],
    make: () => uiR1(read(UiStep)),
  },
  "ragen-format": { description: "RAGEN: -0.1 for each broken turn", fields: [], make: () => ragenFormat() },
  "think-answer": {
    description: "1 where every turn is <think>…</think><answer>…</answer>",
    fields: [],
    make: () => format(["think", "answer"]),
  },
} satisfies Record<string, BuiltinReward>;
