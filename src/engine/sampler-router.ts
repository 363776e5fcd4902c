import type { SampleRequest, Tokens } from "./engine.ts";
import type { Sampler } from "./sampler.ts";

interface Member {
  readonly sampler: Sampler;
  isUp: boolean;
  pending: number;
  /** Prompts that went there last, the newest first. */
  recent: Tokens[];
}

export interface Route {
  readonly sampler: Sampler;
  readonly index: number;
  /** To be called when the request has ended. */
  done(): void;
}

/** Prompts that a sampler is expected to have in its cache. */
const remembered = 32;
/** Requests that a sampler may have more than the idlest before a common prefix no longer attracts others. */
const slack = 8;

/** Which sampler a request goes to: its rollout's, else the one with the longest common prefix, unless it has much more to do. */
export class SamplerRouter {
  readonly #members: readonly Member[];
  readonly #rollouts = new Map<string, number>();

  constructor(samplers: readonly Sampler[]) {
    this.#members = samplers.map((sampler) => ({ sampler, isUp: false, pending: 0, recent: [] }));
  }

  /** Whether anything changed. */
  setUp(index: number, isUp: boolean): boolean {
    const member = this.#members[index];
    if (member.isUp === isUp) return false;
    member.isUp = isUp;
    if (isUp) return true;
    member.recent = [];
    for (const [rollout, own] of this.#rollouts) if (own === index) this.#rollouts.delete(rollout);
    return true;
  }

  down(): number[] {
    return this.#members.flatMap(({ isUp }, i) => (isUp ? [] : [i]));
  }

  /** Undefined where none is up. */
  route({ tokens, rollout }: SampleRequest): Route | undefined {
    const index = (rollout === undefined ? undefined : this.#rollouts.get(rollout)) ?? this.#choose(tokens);
    if (index === undefined) return undefined;
    const member = this.#members[index];
    if (rollout !== undefined) this.#rollouts.set(rollout, index);
    member.pending++;
    member.recent = [tokens, ...member.recent].slice(0, remembered);
    let isDone = false;
    const done = () => {
      if (!isDone) member.pending--;
      isDone = true;
    };
    return { sampler: member.sampler, index, done };
  }

  async release(rollout: string): Promise<void> {
    const index = this.#rollouts.get(rollout);
    this.#rollouts.delete(rollout);
    if (index === undefined) return;
    // a sampler that is gone has nothing left to release
    await this.#members[index].sampler.release?.(rollout).catch(() => {});
  }

  #choose(tokens: Tokens): number | undefined {
    const up = this.#members.flatMap((member, index) => (member.isUp ? [{ ...member, index }] : []));
    const least = Math.min(...up.map(({ pending }) => pending));
    const near = up.filter(({ pending }) => pending <= least + slack);
    const scored = near.map((member) => ({
      ...member,
      shared: Math.max(0, ...member.recent.map((prompt) => commonLength(prompt, tokens))),
    }));
    scored.sort((a, b) => b.shared - a.shared || a.pending - b.pending);
    return scored[0]?.index;
  }
}

function commonLength(a: Tokens, b: Tokens): number {
  const limit = Math.min(a.length, b.length);
  let length = 0;
  while (length < limit && a[length] === b[length]) length++;
  return length;
}
