import { refuseUnknownOptions } from "../known-options.ts";
import type { FuzzyJudge } from "../scorer/web-arena-checks.ts";
import { type JudgeClientOptions, judgeClient, knownJudgeClientOptions } from "./judge/judge-client.ts";
import type { ScoredEpisode } from "./reward.ts";

const questions = {
  "same-meaning": {
    instructions: "You grade a student's answer to a question against the reference answer.",
    text: "The student's answer means the same as the reference answer, in the context of the question.",
  },
  unachievable: {
    instructions: "A task could not be done. You are shown why, and the reason that a student gave.",
    text: "The student's reason is the actual reason, stated or implied.",
  },
} as const;

/** Answers WebArena's `fuzzy_match` with a language model: the share of votes that say yes. */
export function fuzzyJudge(options: JudgeClientOptions): FuzzyJudge<Pick<ScoredEpisode, "signal">> {
  refuseUnknownOptions("fuzzyJudge", options, knownJudgeClientOptions);
  const client = judgeClient(options);
  return async ({ kind, intent, reference, prediction }, { signal }) => {
    const { instructions, text } = questions[kind];
    const sections = [
      { label: "QUESTION", text: intent },
      { label: kind === "same-meaning" ? "REFERENCE" : "ACTUAL REASON", text: reference },
      { label: "STUDENT", text: prediction },
    ];
    const verdicts = await client.ask({ instructions, rubric: [{ id: "same", text }], sections }, signal);
    return verdicts.reduce((sum, [met]) => sum + met, 0) / verdicts.length;
  };
}
