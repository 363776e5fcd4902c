import { defined } from "../defined.ts";
import { uniformAt } from "../random.ts";
import { chooseToken, mostProbable } from "./choose-token.ts";
import type { Sample, SampleRequest, SampleStop } from "./engine.ts";
import { StopStringMatcher } from "./stop-strings.ts";

/** A sample request in progress, with the tokens drawn so far. */
export class ActiveRequest {
  readonly id: number;
  readonly request: SampleRequest;
  readonly #tokens: number[] = [];
  readonly #logprobs: number[] = [];
  readonly #cutLogprobs: number[] = [];
  readonly #versions: number[] = [];
  readonly #alternatives: { token: number; logprob: number }[] = [];
  readonly #stopTokens: ReadonlySet<number>;
  readonly #matcher: StopStringMatcher | undefined;

  constructor(id: number, request: SampleRequest, tokenBytes: readonly Uint8Array[] | undefined) {
    this.id = id;
    this.request = request;
    this.#stopTokens = new Set(request.stopTokens);
    const strings = request.stopStrings ?? [];
    if (strings.length > 0)
      this.#matcher = new StopStringMatcher(strings, (token) => tokenBytes?.[token] ?? new Uint8Array());
  }

  /** Prompt and what has been sampled. */
  get allTokens(): number[] {
    return [...this.request.tokens, ...this.#tokens];
  }

  /** Draws the next token, number `position` of the sequence. */
  draw(probabilities: Float32Array, position: number, version: number): number {
    const { seed, temperature, topP, topK, alternatives = 0 } = this.request;
    const choice = { uniform: uniformAt(seed, position), isGreedy: temperature === 0, topP, topK };
    const { token, logprob, cutLogprob } = chooseToken(probabilities, choice);
    this.#tokens.push(token);
    this.#logprobs.push(logprob);
    this.#cutLogprobs.push(cutLogprob);
    this.#versions.push(version);
    if (alternatives > 0) {
      for (const id of mostProbable(probabilities, alternatives))
        this.#alternatives.push({ token: id, logprob: Math.log(probabilities[id]) });
    }
    return token;
  }

  /** Why sampling stops at the token just drawn, if it does. */
  stopAt(token: number, length: number, contextLength: number): SampleStop | undefined {
    if (this.#stopTokens.has(token)) return "stop-token";
    if (this.#matcher?.push(token)) return "stop-string";
    if (this.#tokens.length >= this.request.maxTokens) return "max-tokens";
    return length >= contextLength ? "context-full" : undefined;
  }

  toSample(stop: SampleStop): Sample {
    const { topP = 1, topK, alternatives: count } = this.request;
    return {
      tokens: Int32Array.from(this.#tokens),
      logprobs: Float32Array.from(this.#logprobs),
      versions: Int32Array.from(this.#versions),
      stop,
      ...defined({
        cutLogprobs: topP < 1 || topK !== undefined ? Float32Array.from(this.#cutLogprobs) : undefined,
        alternatives:
          count === undefined
            ? undefined
            : {
                count,
                tokens: Int32Array.from(this.#alternatives, ({ token }) => token),
                logprobs: Float32Array.from(this.#alternatives, ({ logprob }) => logprob),
              },
      }),
    };
  }
}
