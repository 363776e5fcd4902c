import { joinTokens } from "../policy/join-tokens.ts";
import { makeTrajectory, type Trajectory } from "../schema/trajectory.ts";

/**
 * The same attempt as if there had been no hint: the prompt is the one without, and all that follows moves along. Its
 * log-probabilities stay those of the sampling, so they are of another prompt than this one.
 */
export function withoutGuidance(trajectory: Trajectory): Trajectory {
  const { guidance, ...rest } = trajectory;
  if (guidance === undefined) return trajectory;
  const { turns, tokens_T, mask_T, logprobs_T, versions_T } = trajectory;
  const { prompt_P } = guidance;
  const start = firstTurn(trajectory);
  const more = hintTokens(trajectory);
  const T = tokens_T.length - more;
  const moved = <Values extends Uint8Array | Float32Array | Int32Array>(from_T: Values, to_T: Values): Values => {
    to_T.set(from_T.subarray(start), prompt_P.length);
    return to_T;
  };
  return makeTrajectory({
    ...rest,
    tokens_T: joinTokens(prompt_P, tokens_T.subarray(start)),
    mask_T: moved(mask_T, new Uint8Array(T)),
    logprobs_T: moved(logprobs_T, new Float32Array(T)),
    versions_T: moved(versions_T, new Int32Array(T).fill(-1)),
    turns: turns.map((turn) => ({ ...turn, span: { start: turn.span.start - more, end: turn.span.end - more } })),
  });
}

/** How many tokens the hint adds to what stands before the first turn. */
export function hintTokens(trajectory: Trajectory): number {
  const { guidance } = trajectory;
  return guidance === undefined ? 0 : firstTurn(trajectory) - guidance.prompt_P.length;
}

function firstTurn({ turns, tokens_T }: Trajectory): number {
  return turns[0]?.span.start ?? tokens_T.length;
}
