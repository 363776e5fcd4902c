import { LudusError } from "../../errors.ts";

/** One thing to judge. */
export interface Criterion {
  /** Its key in the judge's answer, and the name of its part of the score. */
  readonly id: string;
  /** What has to be so for it to be met. */
  readonly text: string;
  /** Its share of the total, relative to the others; 1 by default. */
  readonly weight?: number;
  /** The most points it can get: with 1, the default, it is met or not. */
  readonly points?: number;
}

export type Rubric = readonly Criterion[];

export const defaultRubric: Rubric = [
  { id: "success", text: "The task was done in full, and nothing in the final answer is wrong." },
];

/** Returns the rubric it was given, or says what is wrong with it. */
export function checkRubric(rubric: Rubric): Rubric {
  const fail = (got: string, expected: string): never => {
    throw new LudusError("bad-rubric", { got, expected });
  };
  if (rubric.length === 0) fail("no criteria", "one at least");
  for (const [index, { id, weight = 1, points = 1 }] of rubric.entries()) {
    if (!/^[A-Za-z][\w-]{0,31}$/.test(id) || id === "reasoning") {
      fail(`id ${JSON.stringify(id)}`, "a letter, then letters, digits, _ or -, at most 32, and not reasoning");
    }
    if (rubric.findIndex((other) => other.id === id) !== index) fail(`id "${id}" twice`, "ids that differ");
    if (!(weight > 0 && Number.isFinite(weight))) fail(`weight ${weight} of "${id}"`, "a number above 0");
    if (!(Number.isInteger(points) && points >= 1 && points <= 100)) fail(`points ${points} of "${id}"`, "1 to 100");
  }
  return rubric;
}

/** The rubric in words, for the judge. */
export function describeRubric(rubric: Rubric): string {
  return rubric
    .map(
      ({ id, text, points = 1 }) => `- "${id}" (${points === 1 ? "true or false" : `0 to ${points} points`}): ${text}`,
    )
    .join("\n");
}

/** The judge's answer as a JSON Schema. Reasoning comes first, so that it is written before what follows from it. */
export function answerSchema(rubric: Rubric): Record<string, unknown> {
  const valueSchema = ({ points = 1 }: Criterion) =>
    points === 1
      ? { type: "boolean" }
      : { type: "integer", enum: Array.from({ length: points + 1 }, (_, value) => value) };
  return {
    type: "object",
    properties: {
      reasoning: { type: "string" },
      ...Object.fromEntries(rubric.map((criterion) => [criterion.id, valueSchema(criterion)])),
    },
    required: ["reasoning", ...rubric.map(({ id }) => id)],
    additionalProperties: false,
  };
}
