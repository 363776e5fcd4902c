import type { Engine } from "../engine/engine.ts";
import type { Rollout } from "../rollout/rollout.ts";
import type { Trajectory } from "../schema/trajectory.ts";

export interface ContextMismatch {
  /** Mean over episodes of the tokens before the turn that had most of them. */
  readonly longestPrompt: number;
  /** Tokens that were said in earlier prompts and stand in the last one. */
  readonly tokens: number;
  /** Mean absolute difference of their log-probabilities in the last text from those they were sampled with; NaN without such tokens. */
  readonly logprobDifference: number;
  /** Share of them whose probability differs by more than a fifth: what a clip at 0.2 would cut off. */
  readonly beyondClip: number;
}

const clip = 0.2;

/**
 * What rewriting earlier parts of a prompt costs whoever trains on the last text as a whole, as the released code of WebAgent-R1 does: earlier
 * turns stand there under other prompts than they were sampled from. Here each turn is trained under its own. The policy's weights must be those that sampled.
 */
export async function contextMismatch(
  engine: Pick<Engine, "forward">,
  rollouts: readonly Rollout[],
): Promise<ContextMismatch> {
  const differences: number[] = [];
  for (const { trajectories } of rollouts) differences.push(...(await differencesOf(engine, trajectories)));
  const prompts = rollouts.map(({ trajectories }) => Math.max(0, ...trajectories.flatMap(promptsOf)));
  const beyond = differences.filter((difference) => Math.abs(Math.expm1(difference)) > clip);
  return {
    longestPrompt: mean(prompts),
    tokens: differences.length,
    logprobDifference: mean(differences.map(Math.abs)),
    beyondClip: beyond.length / differences.length,
  };
}

const promptsOf = ({ turns }: Trajectory) => turns.map(({ span }) => span.start);

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Log-probability in the last text less that of sampling, for each token that was said in an earlier one. */
async function differencesOf(
  engine: Pick<Engine, "forward">,
  trajectories: readonly Trajectory[],
): Promise<readonly number[]> {
  const last = trajectories.at(-1);
  if (last === undefined || trajectories.length < 2) return [];
  const places = placesIn(last, trajectories.slice(0, -1));
  if (places.length === 0) return [];
  const { temperature, tokens_T: tokens } = last;
  const { logprobs_B_T } = await engine.forward({ rows: [{ tokens }] }, { temperature });
  return places.map(({ at, logprob }) => logprobs_B_T[0][at] - logprob);
}

/** Where what was said in earlier trajectories stands in the last one, turn after turn. A turn that was left out there has no place. */
function placesIn(
  last: Trajectory,
  earlier: readonly Trajectory[],
): { readonly at: number; readonly logprob: number }[] {
  let from = 0;
  return earlier.flatMap((trajectory) =>
    saidIn(trajectory).flatMap(({ tokens, logprobs }) => {
      const start = indexOf(last.tokens_T, tokens, from);
      if (start < 0) return [];
      from = start + tokens.length;
      return [...logprobs].map((logprob, i) => ({ at: start + i, logprob }));
    }),
  );
}

/** What was sampled, turn by turn. */
function saidIn({ turns, tokens_T, mask_T, logprobs_T }: Trajectory) {
  return turns.flatMap(({ span: { start, end } }) => {
    const isSampled = mask_T.subarray(start, end).every((mask) => mask === 1);
    return isSampled ? [{ tokens: tokens_T.subarray(start, end), logprobs: logprobs_T.subarray(start, end) }] : [];
  });
}

function indexOf(tokens_T: Int32Array, wanted: Int32Array, from: number): number {
  for (let start = from; start + wanted.length <= tokens_T.length; start++) {
    if (wanted.every((token, i) => tokens_T[start + i] === token)) return start;
  }
  return -1;
}
