import { createRng, type Engine, type Trajectory } from "ludus";
import { codeRlReturns } from "../programs.ts";
import { shuffled } from "../tasks.ts";

// T: tokens of an attempt; K: outcomes

/** What an attempt came to, by its return: its place among the four. */
export function outcomeIndex({ score }: Pick<Trajectory, "score">): number {
  return codeRlReturns.indexOf(score.total);
}

export interface Critic {
  /** After each token, how probable each outcome is: `[T, K]`, 0 outside of what was sampled. */
  probabilities(attempts: readonly Pick<Trajectory, "tokens_T" | "mask_T">[]): Promise<readonly Float32Array[]>;
  learn(
    attempts: readonly Trajectory[],
    options: { epochs: number; learningRate: number; seed: number },
  ): Promise<void>;
}

const K = codeRlReturns.length;
const rowsAtOnce = 32;

/**
 * CodeRL's critic: says after every token of a program which of four outcomes it will have. It is a network like the policy, on an engine of its own;
 * four ids of its vocabulary stand for the outcomes.
 */
export function outcomeCritic(engine: Engine): Critic {
  const forward = (attempts: readonly Pick<Trajectory, "tokens_T" | "mask_T">[]) =>
    engine.forward({ rows: attempts.map(rowOf) });
  return {
    async probabilities(attempts) {
      const all: Float32Array[] = [];
      for (let i = 0; i < attempts.length; i += rowsAtOnce) {
        const some = attempts.slice(i, i + rowsAtOnce);
        const { candidates_B_T } = await forward(some);
        for (const [b, logprobs] of candidates_B_T!.entries()) all.push(shares(logprobs, some[b]!.mask_T));
      }
      return all;
    },
    async learn(attempts, { epochs, learningRate, seed }) {
      const rng = createRng(seed);
      for (let epoch = 0; epoch < epochs; epoch++) {
        const order = shuffled(attempts, rng);
        for (let i = 0; i < order.length; i += rowsAtOnce) {
          const some = order.slice(i, i + rowsAtOnce);
          const passed = await forward(some);
          const tokens = some.reduce((sum, { mask_T }) => sum + mask_T.reduce((a, b) => a + b, 0), 0);
          const candidates_B_T = some.map((attempt, b) => {
            const q = shares(passed.candidates_B_T![b]!, attempt.mask_T);
            return derivatives(q, attempt.mask_T, outcomeIndex(attempt), tokens);
          });
          await engine.backward(passed, { candidates_B_T });
          await engine.step({ learningRate });
        }
      }
    },
  };
}

/** What is said after token `t` is asked for at `t + 1`: one more token, whatever it is, makes room for the last. */
function rowOf({ tokens_T, mask_T }: Pick<Trajectory, "tokens_T" | "mask_T">) {
  const count = tokens_T.length + 1;
  const ids = Int32Array.from({ length: count * K }, (_, i) => i % K);
  return { tokens: [...tokens_T, 0], mask: [0, ...mask_T], candidates: { count: K, tokens: ids } };
}

/** Of log-probabilities at `t + 1` the shares of the four at `t`. */
function shares(logprobs: Float32Array, mask_T: Uint8Array): Float32Array {
  const out = new Float32Array(mask_T.length * K);
  for (let t = 0; t < mask_T.length; t++) {
    if (mask_T[t] === 0) continue;
    const four = Array.from(logprobs.subarray((t + 1) * K, (t + 2) * K), Math.exp);
    const sum = four.reduce((a, b) => a + b, 0);
    for (let k = 0; k < K; k++) out[t * K + k] = four[k]! / sum;
  }
  return out;
}

/** Of the cross-entropy among the four, mean over tokens; `[T + 1, K]`. */
function derivatives(shares_T_K: Float32Array, mask_T: Uint8Array, outcome: number, tokens: number): Float32Array {
  const out = new Float32Array((mask_T.length + 1) * K);
  for (let t = 0; t < mask_T.length; t++) {
    if (mask_T[t] === 0) continue;
    for (let k = 0; k < K; k++) out[(t + 1) * K + k] = (shares_T_K[t * K + k]! - (k === outcome ? 1 : 0)) / tokens;
  }
  return out;
}

/** Of one outcome after each token. */
export function outcomeAlone(shares_T_K: Float32Array, outcome: number): Float32Array {
  return Float32Array.from({ length: shares_T_K.length / K }, (_, t) => shares_T_K[t * K + outcome]!);
}
