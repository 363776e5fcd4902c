import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Renderer } from "../policy/renderer.ts";
import { makeScore } from "../schema/score.ts";
import { fence } from "./judge/fence.ts";
import { trajectorySections } from "./judge/trajectory-sections.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward, ScoredEpisode } from "./reward.ts";

/** A policy of this process that is asked: what `train`, `fromScratch` and `fromPretrained` give. */
export interface JudgingPolicy {
  readonly engine: {
    readonly info: { readonly contextLength: number };
    forward(
      batch: { rows: { tokens: Int32Array; mask: Uint8Array }[] },
      options?: { weights?: string },
    ): Promise<{ readonly logprobs_B_T: readonly Float32Array[] }>;
  };
  readonly renderer: Pick<Renderer, "start" | "say">;
}

export interface PolicyJudgeOptions<Data, State> {
  /** What the judge reads. By default the episode between lines that no text in it can forge, and whether the task was solved. */
  ask: (episode: ScoredEpisode<Data, State>) => string;
  /** What it may answer: for and against. */
  answers: readonly [string, string];
  /** The weights that judge, such as a frozen copy; the policy's own by default, which change while it learns. */
  weights: string | undefined;
  /** From which score on the task counts as solved. */
  successAt: number;
}

const known: KnownOptions<PolicyJudgeOptions<unknown, unknown>> = {
  ask: true,
  answers: true,
  weights: true,
  successAt: true,
};

/**
 * RLAIF with a policy of this process as the judge: P(yes) / (P(yes) + P(no)) by the policy's own log-probabilities, one forward pass, nothing sampled.
 *
 *     { ...env, score: policyJudge(judge, { ask: ({ task, answer }) => `${task.question} ${answer}?` }) }
 *
 * What it thinks is not the truth: audit it with `auditJudge` on episodes whose outcome is known. An episode that does not fit into its context is an error, never a score.
 */
export function policyJudge<Data, State = unknown>(
  judge: JudgingPolicy,
  options: Partial<PolicyJudgeOptions<Data, State>> = {},
): Reward<Data, State> {
  refuseUnknownOptions<Partial<PolicyJudgeOptions<Data, State>>>("policyJudge", options, known);
  const { ask, answers, weights, successAt } = {
    ask: wholeEpisode,
    answers: ["yes", "no"] as const,
    weights: undefined,
    successAt: 0.5,
    ...options,
  };
  if (answers.length !== 2 || answers[0] === answers[1] || answers.includes("")) {
    throw new LudusError("bad-option", {
      got: `answers ${JSON.stringify(answers)} of policyJudge`,
      expected: "two different texts",
    });
  }
  // types are stripped at run time: what is no policy would be found out when the first episode is scored
  const { engine, renderer } = judge ?? {};
  if (engine === undefined || renderer === undefined) {
    throw new LudusError("bad-option", {
      got: `${judge === undefined ? "undefined" : typeof judge} as the judge of policyJudge`,
      expected: "a policy with `engine` and `renderer`, as fromScratch and fromPretrained give",
    });
  }
  return makeReward(
    async (episode) => {
      const prompt = renderer.start([{ role: "user", content: ask(episode) }], []);
      const rows = answers.map((answer) => rowOf(prompt, renderer.say(answer)));
      const longest = Math.max(...rows.map(({ tokens }) => tokens.length));
      if (longest > engine.info.contextLength) throw tooLong(longest, engine.info.contextLength);
      const { logprobs_B_T } = await engine.forward({ rows }, defined({ weights }));
      const [yes, no] = logprobs_B_T.map((logprobs_T) => logprobs_T.reduce((sum, logprob) => sum + logprob, 0));
      const outcome = 1 / (1 + Math.exp(no - yes));
      return makeScore({ outcome }, outcome >= successAt);
    },
    { range: [0, 1] },
  );
}

function rowOf(prompt: Int32Array, answer: Int32Array): { tokens: Int32Array; mask: Uint8Array } {
  const tokens = Int32Array.from([...prompt, ...answer]);
  return { tokens, mask: new Uint8Array(tokens.length).fill(1, prompt.length) };
}

function wholeEpisode(episode: Pick<ScoredEpisode, "turns" | "answer">): string {
  const { text } = fence(trajectorySections(episode, 60_000));
  return `${text}\nWas the task solved? Answer yes or no.`;
}

function tooLong(got: number, most: number): LudusError {
  return new LudusError("judge-context", {
    got: `an episode of ${got} tokens for policyJudge`,
    expected: `at most ${most}, the context of the policy that judges`,
    hint: "Give `ask`, with less of the episode.",
  });
}
