import { LudusError } from "../errors.ts";
import { type SearchedAction, searchedTurn } from "../rollout/search/searched-turn.ts";
import type { TokenTargets } from "../schema/train-batch.ts";
import type { Trajectory } from "../schema/trajectory.ts";

/**
 * What a tree search tried, as a distribution over the next token at each token of the turns it chose: of all actions that begin with what was
 * said up to there, each counts by its visits to the power of 1 / temperature. Undefined where no turn was searched.
 */
export function searchTargets({ tokens_T, turns }: Trajectory, temperature = 1): TokenTargets | undefined {
  if (!(temperature > 0)) {
    throw new LudusError("bad-option", { got: `a temperature of ${temperature}`, expected: "a number above 0" });
  }
  const weights_T = Array.from(tokens_T, (): ReadonlyMap<number, number> | undefined => undefined);
  for (const turn of turns) {
    const { start, end } = turn.span;
    let actions = (searchedTurn(turn)?.actions ?? []).filter(({ visits }) => visits > 0);
    for (let t = start; t < end && actions.length > 0; t++) {
      weights_T[t] = nextTokens(actions, t - start, temperature);
      actions = actions.filter(({ tokens }) => tokens[t - start] === tokens_T[t]);
    }
  }
  const count = Math.max(0, ...weights_T.map((weights) => weights?.size ?? 0));
  if (count === 0) return undefined;
  const targets = {
    count,
    tokens: new Int32Array(tokens_T.length * count),
    weights: new Float32Array(tokens_T.length * count),
  };
  for (const [t, weights] of weights_T.entries()) {
    let k = t * count;
    for (const [token, weight] of weights ?? []) {
      targets.tokens[k] = token;
      targets.weights[k++] = weight;
    }
  }
  return targets;
}

function nextTokens(actions: readonly SearchedAction[], at: number, temperature: number): Map<number, number> {
  const weights = new Map<number, number>();
  const most = Math.max(...actions.map(({ visits }) => visits));
  let sum = 0;
  for (const { tokens, visits } of actions) {
    if (at >= tokens.length) continue;
    const weight = (visits / most) ** (1 / temperature);
    weights.set(tokens[at], (weights.get(tokens[at]) ?? 0) + weight);
    sum += weight;
  }
  for (const [token, weight] of weights) weights.set(token, weight / sum);
  return weights;
}
