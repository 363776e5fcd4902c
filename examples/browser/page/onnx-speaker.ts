import { chooseToken, mostProbable } from "../../../src/engine/choose-token.ts";
import { createRng } from "../../../src/random.ts";
import type { Speaker } from "../../../src/rollout/speaker.ts";
import type { OnnxModel } from "./onnx-model.ts";

/** A token the model chose, and what else it might have said there. */
export interface SaidToken {
  readonly id: number;
  readonly choices: readonly { readonly id: number; readonly share: number }[];
}

export interface SpeakerOptions {
  readonly temperature: number;
  readonly stopTokens: readonly number[];
  /** Called after each turn. */
  readonly onTurn: (said: readonly SaidToken[]) => Promise<void>;
}

const shown = 4;

/** Takes turns with a model, sampling as the engine does that trained it. */
export function onnxSpeaker(model: OnnxModel, { temperature, stopTokens, onTurn }: SpeakerOptions): Speaker {
  return async ({ prompt, maxTokens, seed }) => {
    const rng = createRng(seed);
    const said: SaidToken[] = [];
    const logprobs: number[] = [];
    const isOver = () => stopTokens.includes(said.at(-1)?.id ?? -1);
    while (said.length < maxTokens && !isOver()) {
      const logits = await model.next([...prompt, ...said.map(({ id }) => id)]);
      const shares = softmax(logits, temperature === 0 ? 1 : temperature);
      const { token, logprob } = chooseToken(shares, { uniform: rng.next(), isGreedy: temperature === 0 });
      const choices = [...mostProbable(shares, shown)].map((id) => ({ id, share: shares[id]! }));
      said.push({ id: token, choices });
      logprobs.push(Math.min(0, logprob));
    }
    await onTurn(said);
    const T = said.length;
    return {
      ...{ tokens: Int32Array.from(said, ({ id }) => id), mask: new Uint8Array(T).fill(1) },
      ...{ logprobs: Float32Array.from(logprobs), versions: new Int32Array(T) },
      stop: isOver() ? "stop-token" : "max-tokens",
    };
  };
}

function softmax(logits: Float32Array, temperature: number): Float32Array {
  const highest = logits.reduce((most, logit) => Math.max(most, logit), Number.NEGATIVE_INFINITY);
  const weights = logits.map((logit) => Math.exp((logit - highest) / temperature));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}
