import { defined } from "../../defined.ts";
import { joinTokens } from "../../policy/join-tokens.ts";
import { hintOf, makeTrajectory, type Trajectory } from "../../schema/trajectory.ts";
import type { Turn } from "../../schema/turn.ts";

/**
 * The same attempt as an answer to the prompt without the hint; spans move with it. Its log-probabilities stay those of sampling, so
 * they are of another prompt than this one. An attempt without a hint comes back as it is.
 */
export function withoutHint(trajectory: Trajectory): Trajectory {
  const hint = hintOf(trajectory);
  if (hint === undefined) return trajectory;
  const { turns, tokens_T, mask_T, logprobs_T, versions_T } = trajectory;
  const { prompt_P } = hint;
  // a hint is recorded with the first turn, so there is one
  const { start } = turns[0].span;
  const offset = start - prompt_P.length;
  const T = tokens_T.length - offset;
  const moved = <Values extends Uint8Array | Float32Array | Int32Array>(from_T: Values, to_T: Values): Values => {
    to_T.set(from_T.subarray(start), prompt_P.length);
    return to_T;
  };
  return makeTrajectory({
    ...trajectory,
    tokens_T: joinTokens(prompt_P, tokens_T.subarray(start)),
    mask_T: moved(mask_T, new Uint8Array(T)),
    logprobs_T: moved(logprobs_T, new Float32Array(T)),
    versions_T: moved(versions_T, new Int32Array(T).fill(-1)),
    turns: turns.map((turn) => withoutAnnotation(movedBy(turn, offset))),
  });
}

function movedBy(turn: Turn, offset: number): Turn {
  return { ...turn, span: { start: turn.span.start - offset, end: turn.span.end - offset } };
}

function withoutAnnotation(turn: Turn): Turn {
  if (turn.annotations?.hint === undefined) return turn;
  const { annotations, ...rest } = turn;
  const { hint: _hint, ...others } = annotations;
  return { ...rest, ...defined({ annotations: Object.keys(others).length === 0 ? undefined : others }) };
}
