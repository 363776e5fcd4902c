import { failureText, LudusError } from "../errors.ts";
import { sum } from "../statistics.ts";
import type { ToldHint } from "./annotations.ts";
import type { Score } from "./score.ts";
import type { StopReason } from "./stop-reason.ts";
import type { Turn } from "./turn.ts";

/**
 * What one policy saw and said, token by token. `T` tokens, all arrays aligned; index `t` is about choosing `tokens_T[t]`.
 *
 * Worked example, two turns. The prompt is `[1, 2, 3]`; the policy said `[7, 9]` (9 ends its turn), the environment answered
 * with `[4, 5]` (separators of the template included), the policy said `[8, 9]`:
 *
 *     tokens_T   [1, 2, 3,   7,    9,    4, 5,   8,    9  ]
 *     mask_T     [0, 0, 0,   1,    1,    0, 0,   1,    1  ]     1 exactly where the policy sampled
 *     logprobs_T [0, 0, 0, -0.1, -0.7,   0, 0, -0.3, -0.2 ]     of the distribution sampled from; 0 elsewhere
 *     versions_T [-1,-1,-1,  4,    4,   -1,-1,   4,    5  ]     the policy version behind each token; -1 elsewhere
 *     turns      [{ span: { start: 3, end: 5 }, … }, { span: { start: 7, end: 9 }, … }]
 *
 * A rollout whose context was cut or rewritten has several trajectories; their `weight`s add up to 1.
 */
export interface Trajectory {
  readonly id: string;
  /** Trajectories of one rollout share it. */
  readonly rollout: string;
  readonly taskId: string;
  /** Who spoke, where several policies act in one episode. */
  readonly role: string;
  /** Which weights of the engine it sampled from. */
  readonly weights: string;
  readonly weight: number;
  readonly tokens_T: Int32Array;
  readonly mask_T: Uint8Array;
  readonly logprobs_T: Float32Array;
  readonly versions_T: Int32Array;
  readonly turns: readonly Turn[];
  readonly score: Score;
  readonly stop: StopReason;
  /** What went wrong, of an infrastructure stop; longer texts lose their middle. */
  readonly failure?: string;
  readonly temperature: number;
  /** Present where top-p or top-k cut: `logprobs_T` are of the truncated distribution, which no forward pass recomputes. */
  readonly truncation?: Truncation;
  readonly domain?: string;
}

/** What of a distribution was sampled from: the most probable tokens up to a sum of probabilities, or so many of them. */
export interface Truncation {
  readonly topP?: number;
  readonly topK?: number;
}

/** The hint that a trajectory was sampled with. */
export function hintOf({ turns }: Pick<Trajectory, "turns">): ToldHint | undefined {
  return turns.at(0)?.annotations?.hint;
}

/** The one place where trajectories are made: throws when the arrays do not line up. */
export function makeTrajectory(fields: Trajectory): Trajectory {
  const { tokens_T, mask_T, logprobs_T, versions_T } = fields;
  const T = tokens_T.length;
  if (mask_T.length !== T || logprobs_T.length !== T || versions_T.length !== T) {
    const lengths = `mask ${mask_T.length}, logprobs ${logprobs_T.length}, versions ${versions_T.length}`;
    throw new LudusError("bad-trajectory", { got: lengths, expected: `${T} each, as many as tokens` });
  }
  for (let t = 0; t < T; t++) {
    const wrong = wrongToken(mask_T[t], logprobs_T[t], versions_T[t]);
    if (wrong === undefined) continue;
    throw new LudusError("bad-trajectory", { got: `${wrong} at token ${t} of ${fields.id}`, expected: expectations });
  }
  checkTurns(fields);
  if (!(fields.weight > 0 && fields.weight <= 1)) {
    throw new LudusError("bad-trajectory", { got: `weight ${fields.weight}`, expected: "above 0, at most 1" });
  }
  const { failure } = fields;
  return failure === undefined ? fields : { ...fields, failure: failureText(failure) };
}

const expectations =
  "mask 0 or 1; where 1, a finite log-probability of at most 0 and a version; where 0, log-probability 0 and version -1";

function wrongToken(mask: number, logprob: number, version: number): string | undefined {
  if (mask !== 0 && mask !== 1) return `mask ${mask}`;
  if (mask === 0 && logprob !== 0) return `log-probability ${logprob} outside the mask`;
  if (mask === 0 && version !== -1) return `version ${version} outside the mask`;
  // rounding may leave a certain token a hair above 0
  if (mask === 1 && !(logprob <= 1e-4 && logprob > Number.NEGATIVE_INFINITY)) return `log-probability ${logprob}`;
  if (mask === 1 && version < 0) return `version ${version}`;
  return undefined;
}

function checkTurns({ id, turns, mask_T }: Trajectory): void {
  let covered = 0;
  let last = 0;
  for (const { span } of turns) {
    if (span.start < last || span.end < span.start || span.end > mask_T.length) {
      const got = `turn of tokens ${span.start} to ${span.end} in ${id}`;
      throw new LudusError("bad-trajectory", { got, expected: "turns in order, apart, within the tokens" });
    }
    for (let t = span.start; t < span.end; t++) covered += mask_T[t];
    last = span.end;
  }
  const sampled = sum(mask_T);
  if (covered !== sampled) {
    const got = `${sampled} sampled tokens, ${covered} of them in turns, in ${id}`;
    throw new LudusError("bad-trajectory", { got, expected: "every sampled token in a turn" });
  }
}

/** The same as an attempt at another task than the one named, which it was sampled for. */
export function relabelled(trajectory: Trajectory, from: string): Trajectory {
  const [first, ...rest] = trajectory.turns;
  if (first === undefined) return trajectory;
  return { ...trajectory, turns: [{ ...first, annotations: { ...first.annotations, relabelled: { from } } }, ...rest] };
}

/** Whether it was sampled for another task than its own: its log-probabilities are of other prompts. */
export function isRelabelled({ turns }: Pick<Trajectory, "turns">): boolean {
  return turns.at(0)?.annotations?.relabelled !== undefined;
}
