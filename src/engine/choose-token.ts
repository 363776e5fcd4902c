/** What one position asks of its distribution. */
export interface Choice {
  /** Uniform in [0, 1). */
  uniform: number;
  isGreedy: boolean;
  topP?: number | undefined;
  topK?: number | undefined;
}

export interface Chosen {
  token: number;
  /** Under the model at the request's temperature. */
  logprob: number;
  /** Under the distribution left by top-p and top-k; equal to `logprob` where neither cut. */
  cutLogprob: number;
}

/** Draws from probabilities by walking their running sum up to the uniform number. */
export function chooseToken(probabilities: Float32Array, choice: Choice): Chosen {
  if (choice.isGreedy) return greedy(probabilities);
  if ((choice.topP ?? 1) < 1 || (choice.topK ?? probabilities.length) < probabilities.length)
    return fromCut(probabilities, choice);
  let total = 0;
  for (let i = 0; i < probabilities.length; i++) total += probabilities[i];
  const token = walk(probabilities, choice.uniform * total);
  const logprob = Math.log(probabilities[token]);
  return { token, logprob, cutLogprob: logprob };
}

function greedy(probabilities: Float32Array): Chosen {
  let token = 0;
  for (let i = 1; i < probabilities.length; i++) if (probabilities[i] > probabilities[token]) token = i;
  return { token, logprob: Math.log(probabilities[token]), cutLogprob: 0 };
}

function walk(probabilities: Float32Array, goal: number): number {
  let running = 0;
  let last = 0;
  for (let i = 0; i < probabilities.length; i++) {
    if (probabilities[i] === 0) continue;
    last = i;
    running += probabilities[i];
    if (running > goal) return i;
  }
  return last; // rounding left the goal above the sum
}

function fromCut(probabilities: Float32Array, { uniform, topP = 1, topK = probabilities.length }: Choice): Chosen {
  // ties go to the lower id, so that the same distribution is cut the same way on every engine
  const order = mostProbable(probabilities, Math.min(topK, probabilities.length));
  let kept = 0;
  let total = 0;
  while (kept < order.length && (kept === 0 || total < topP)) total += probabilities[order[kept++]];
  let running = 0;
  let pick = 0;
  for (let i = 0; i < kept; i++) {
    if (probabilities[order[i]] === 0) break;
    pick = i;
    running += probabilities[order[i]];
    if (running > uniform * total) break;
  }
  const token = order[pick];
  const logprob = Math.log(probabilities[token]);
  return { token, logprob, cutLogprob: logprob - Math.log(total) };
}

/** The ids of the largest probabilities, largest first; ties go to the lower id. */
export function mostProbable(probabilities: Float32Array, count: number): Int32Array {
  const before = (a: number, b: number) => probabilities[b] - probabilities[a] || a - b;
  if (count * 8 > probabilities.length) {
    return Int32Array.from(probabilities, (_, id) => id)
      .sort(before)
      .subarray(0, count);
  }
  // few of many: one pass that keeps the best so far in order
  const best: number[] = [];
  for (let id = 0; id < probabilities.length && count > 0; id++) {
    if (best.length === count && before(id, best[count - 1]) > 0) continue;
    let at = best.length;
    while (at > 0 && before(id, best[at - 1]) < 0) at--;
    best.splice(at, 0, id);
    best.length = Math.min(best.length, count);
  }
  return Int32Array.from(best);
}
