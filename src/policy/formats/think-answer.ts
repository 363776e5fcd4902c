import { refuseUnknownOptions } from "../../known-options.ts";
import type { CallFormat } from "../call-format.ts";
import { checkWritten, makeSaid } from "./said.ts";
import { knownThoughtOptions, readTags, type ThoughtOptions, writeAnswer, writeThought } from "./tagged-text.ts";

/**
 * RAGEN and R1: `<think>…</think><answer>…</answer>`, both in every turn, nothing around them. Without answer tags nothing was
 * answered. A demonstration without a thought gets an empty one.
 */
export function thinkAnswer(options: ThoughtOptions = {}): CallFormat {
  refuseUnknownOptions("thinkAnswer", options, knownThoughtOptions);
  const format: CallFormat = {
    name: "think-answer",
    stopStrings: ["</answer>"],
    describe: () => "Always write <think>your thoughts</think><answer>your answer</answer> and nothing else.",
    parse(text) {
      const { thought, sections, isOrdered } = readTags(text, ["answer"], /^think answer $/, options);
      return makeSaid(thought, [], sections.find((section) => section.tag === "answer")?.text ?? "", isOrdered);
    },
    write(want) {
      const thought = writeThought(want.thought, options) || "<think></think>";
      const text = thought + writeAnswer(want.answer, "");
      return checkWritten(format, text, want, { canSay: "a thought and an answer without its own tags, no call" });
    },
  };
  return format;
}
