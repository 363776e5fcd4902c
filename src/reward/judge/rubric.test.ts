import { expect, test } from "vitest";
import { answerSchema, checkRubric, defaultRubric } from "./rubric.ts";

test("the schema holds the answer to the rubric", () => {
  expect(answerSchema([...defaultRubric, { id: "style", text: "", points: 2 }])).toEqual({
    type: "object",
    properties: {
      reasoning: { type: "string" },
      success: { type: "boolean" },
      style: { type: "integer", enum: [0, 1, 2] },
    },
    required: ["reasoning", "success", "style"],
    additionalProperties: false,
  });
});

test.each([
  [[], "no criteria"],
  [[{ id: "reasoning", text: "" }], "reasoning"],
  [[{ id: "", text: "" }], "id"],
  [[{ id: "a\nb", text: "" }], "id"],
  [
    [
      { id: "a", text: "" },
      { id: "a", text: "" },
    ],
    "twice",
  ],
  [[{ id: "a", text: "", weight: 0 }], "weight 0"],
  [[{ id: "a", text: "", points: 1.5 }], "points 1.5"],
])("%j is refused", (rubric, says) => expect(() => checkRubric(rubric)).toThrow(says));
