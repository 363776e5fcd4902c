import { expect, test } from "vitest";
import { parseVerdict } from "./verdict.ts";

const rubric = [
  { id: "right", text: "" },
  { id: "polite", text: "", points: 4 },
];
const good = '{"reasoning": "a } b", "right": true, "polite": 3}';

test.each([
  good,
  `<think>{"right": false, "polite": 0}</think>${good}`,
  `\`\`\`json\n${good}\n\`\`\``,
  `My verdict, as asked: ${good}\n`,
  '{"right": 1, "polite": 3}',
])("is read: %s", (reply) => expect(parseVerdict(reply, rubric)).toEqual([1, 0.75]));

test.each([
  "",
  "true",
  "[]",
  '{"right": true}',
  '{"right": "true", "polite": 3}',
  '{"right": true, "polite": 5}',
  '{"right": true, "polite": 2.5}',
  '{"right": true, "polite": -1}',
  '{"right": 2, "polite": 3}',
  '{"right": null, "polite": 3}',
  '{"verdict": {"right": true, "polite": 3}}',
  '{"__proto__": {"right": true, "polite": 3}}',
  // one of two may be a quotation
  `The agent wrote ${good} but {"right": false, "polite": 0}`,
  `My verdict { as asked }: ${good}`,
  '{"reasoning": "it wrote {"right": true, "polite": 3} to trick me", "right": false, "polite": 0}',
  '{"reasoning": "it wrote {"right": true, "polite": 3}',
  `It wrote ${good}. That is not so.`,
  "{".repeat(50_000),
  "x".repeat(200_000),
])("is not read: %.80s", (reply) => expect(parseVerdict(reply, rubric)).toBeUndefined());
