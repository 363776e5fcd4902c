import { refuseUnknownOptions } from "../../known-options.ts";
import type { CallFormat, SaidCall } from "../call-format.ts";
import { malformed } from "./json-call.ts";
import { checkWritten, makeSaid } from "./said.ts";
import { knownThoughtOptions, readTags, type ThoughtOptions, writeAnswer, writeThought } from "./tagged-text.ts";

const example = "<search>what to look for</search>";

/**
 * Search-R1: `<search>tea</search>` calls the tool `search` with `{ query: "tea" }`, `<answer>` ends. A turn with neither is a
 * malformed call. Only the environment writes `<information>`; a policy that does breaks the format.
 */
export function search(options: ThoughtOptions = {}): CallFormat {
  refuseUnknownOptions("search", options, knownThoughtOptions);
  const format: CallFormat = {
    name: "search",
    stopStrings: ["</search>", "</answer>"],
    template: {
      write: "{%- set ludus.call = '<search>' + call.arguments.query + '</search>' %}\n",
      separator: "",
    },
    describe: () =>
      `Think between <think> and </think> first. If you lack knowledge, write ${example}: you will be told what was found, ` +
      "and can search again. When you know the answer, write <answer>your answer</answer>.",
    parse(text) {
      const tags = ["search", "answer", "information"];
      const { thought, sections, isOrdered } = readTags(text, tags, /^(think )?(search |answer )$/, options);
      const calls = sections
        .filter((section) => section.tag === "search")
        .map((section): SaidCall => {
          const query = section.text.trim();
          if (!section.isClosed) return malformed(section.text, "</search> is missing", example);
          if (query === "") return malformed(section.text, "the query is empty", example);
          return { kind: "call", name: "search", arguments: { query } };
        });
      const answer = sections.find((section) => section.tag === "answer");
      if (calls.length === 0 && answer === undefined) {
        calls.push(malformed(text, "there is no search and no answer", `${example} or <answer>your answer</answer>`));
      }
      return makeSaid(thought, calls, answer?.text ?? "", isOrdered);
    },
    write(want) {
      const searches = (want.calls ?? []).map((call) => `<search>${String(call.arguments.query)}</search>`).join("");
      const text = writeThought(want.thought, options) + searches + writeAnswer(want.answer, searches);
      return checkWritten(format, text, want, {
        canSay: 'one call of "search" with a query, or an answer, no tags in it',
      });
    },
  };
  return format;
}
