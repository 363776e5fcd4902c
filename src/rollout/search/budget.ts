import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { seedOf } from "../../task/seeds.ts";
import type { Seeds } from "./search.ts";

/** What the search for one attempt may sample, what it throws away included. Unlimited where absent. */
export interface SearchBudget {
  readonly turns?: number;
  readonly tokens?: number;
}

const knownSearchBudget: KnownOptions<SearchBudget> = { turns: true, tokens: true };

export function checkBudget(search: string, budget: SearchBudget): void {
  refuseUnknownOptions(`budget of ${search}`, budget, knownSearchBudget);
  for (const [name, value] of Object.entries(budget)) {
    if (value === undefined || value >= 1) continue;
    throw new LudusError("bad-budget", {
      got: `a budget of ${value} ${name} for ${search}`,
      expected: "1 at least",
      hint: "To play without a search, leave `withSearch` out.",
    });
  }
}

export function checkCounts(search: string, counts: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(counts)) {
    if (Number.isInteger(value) && value >= 1) continue;
    throw new LudusError("bad-option", {
      got: `${name} ${value} of ${search}`,
      expected: "a whole number of at least 1",
    });
  }
}

/** What one search has asked for so far: seeds and names in order, turns and tokens counted. */
export class Spending implements Seeds {
  turns = 0;
  tokens = 0;
  readonly #budget: SearchBudget;
  readonly #id: string;
  readonly #seed: number;
  #asked = 0;
  #named = 0;

  constructor(budget: SearchBudget, { id, seed }: { readonly id: string; readonly seed: number }) {
    this.#budget = budget;
    this.#id = id;
    this.#seed = seed;
  }

  get isSpent(): boolean {
    const { turns = Number.POSITIVE_INFINITY, tokens = Number.POSITIVE_INFINITY } = this.#budget;
    return this.turns >= turns || this.tokens >= tokens;
  }

  next(): number {
    return seedOf(this.#seed, "search", this.#asked++);
  }

  nextId(): string {
    return `${this.#id}~${this.#named++}`;
  }

  readonly spend = (tokens: number): void => {
    this.turns++;
    this.tokens += tokens;
  };
}
