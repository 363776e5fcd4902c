import { z } from "zod";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Rng } from "../random.ts";
import { shuffled } from "./shuffled.ts";

/**
 * What was done before, kept to be learned from again. Only ids are in its state: what they stand for is found again by `load`.
 *
 *     const buffer = priorityBuffer({ capacity: 1000, priorityOf: (group) => deviation(group) });
 *     buffer.add("step-3/0", group);
 *     for (const { item, weight } of buffer.draw(4, rng)) …       // weight undoes what drawing by priority does to means
 */
export interface ReplayBuffer<Item> {
  readonly name: string;
  readonly size: number;
  add(id: string, item: Item): void;
  /** At most `count`; fewer where there are fewer. */
  draw(count: number, rng: Rng): readonly Drawn<Item>[];
  /** Anything JSON can say. */
  state(): unknown;
  /** What `load` does not find is left out: it could not be stored. */
  restore(state: unknown, load: (id: string) => Promise<Item | undefined>): Promise<void>;
}

export interface Drawn<Item> {
  readonly id: string;
  readonly item: Item;
  /** 1, or where some are drawn more often than others, what makes up for that; at most 1. */
  readonly weight: number;
}

interface Entry<Item> {
  readonly id: string;
  readonly item: Item;
  uses: number;
}

const State = z.object({ entries: z.array(z.object({ id: z.string(), uses: z.int() })) });

/** What all buffers share: entries in the order they came, the oldest of which make room for new ones. */
function entriesOf<Item>(capacity: number) {
  if (!(Number.isInteger(capacity) && capacity > 0)) {
    throw new LudusError("bad-replay", { got: `capacity ${capacity}`, expected: "a whole number of at least 1" });
  }
  let entries: Entry<Item>[] = [];
  return {
    all: () => entries,
    push(id: string, item: Item): void {
      entries = [...entries.slice(Math.max(0, entries.length + 1 - capacity)), { id, item, uses: 0 }];
    },
    remove(isGone: (entry: Entry<Item>) => boolean): void {
      entries = entries.filter((entry) => !isGone(entry));
    },
    state: (): z.infer<typeof State> => ({ entries: entries.map(({ id, uses }) => ({ id, uses })) }),
    async restore(state: unknown, load: (id: string) => Promise<Item | undefined>): Promise<void> {
      const saved = State.parse(state).entries;
      const loaded = await Promise.all(saved.map(async (entry) => ({ ...entry, item: await load(entry.id) })));
      entries = loaded.flatMap(({ item, ...entry }) => (item === undefined ? [] : [{ ...entry, item }]));
    },
  };
}

export interface FifoOptions {
  capacity: number;
  /** How often one may be drawn; once is AReaL's buffer. */
  uses: number;
  /** The oldest first, or any with the same chance. */
  order: "oldest" | "uniform";
}

const knownFifoOptions: KnownOptions<FifoOptions> = { capacity: true, uses: true, order: true };

/** First in, first out. */
export function fifoBuffer<Item>(options: Partial<FifoOptions> & Pick<FifoOptions, "capacity">): ReplayBuffer<Item> {
  refuseUnknownOptions("fifoBuffer", options, knownFifoOptions);
  const { capacity, uses, order } = { uses: Number.POSITIVE_INFINITY, order: "uniform", ...options };
  const entries = entriesOf<Item>(capacity);
  return {
    name: "fifo",
    get size() {
      return entries.all().length;
    },
    add: entries.push,
    draw(count, rng) {
      const from = order === "oldest" ? entries.all() : shuffled(entries.all(), rng);
      const drawn = from.slice(0, count);
      for (const entry of drawn) entry.uses++;
      entries.remove((entry) => entry.uses >= uses);
      return drawn.map(({ id, item }) => ({ id, item, weight: 1 }));
    },
    state: entries.state,
    restore: entries.restore,
  };
}

export interface PriorityOptions<Item> {
  capacity: number;
  /** Above 0 for what may be drawn, such as how much rewards differ. */
  priorityOf: (item: Item) => number;
  /** 0 draws all alike, 1 in proportion to priority. */
  alpha: number;
  /** 1 makes up for the drawing in full, 0 not at all. */
  beta: number;
}

const knownPriorityOptions: KnownOptions<PriorityOptions<unknown>> = {
  capacity: true,
  priorityOf: true,
  alpha: true,
  beta: true,
};

/**
 * Drawn with probability P ∝ priority^alpha, with replacement, and weighted (N·P)^-beta, divided by the largest such weight in the
 * buffer (prioritized experience replay).
 */
export function priorityBuffer<Item>(
  options: Partial<PriorityOptions<Item>> & Pick<PriorityOptions<Item>, "capacity" | "priorityOf">,
): ReplayBuffer<Item> {
  refuseUnknownOptions("priorityBuffer", options, knownPriorityOptions);
  const { capacity, priorityOf, alpha, beta } = { alpha: 0.6, beta: 1, ...options };
  const entries = entriesOf<Item>(capacity);
  return {
    name: "priority",
    get size() {
      return entries.all().length;
    },
    add: entries.push,
    draw(count, rng) {
      const eligible = entries.all().flatMap((entry) => {
        const priority = priorityOf(entry.item);
        return priority > 0 ? [{ entry, share: priority ** alpha }] : [];
      });
      const total = eligible.reduce((sum, { share }) => sum + share, 0);
      const least = eligible.reduce((min, { share }) => Math.min(min, share), Number.POSITIVE_INFINITY);
      if (eligible.length === 0) return [];
      return Array.from({ length: Math.min(count, eligible.length) }, () => {
        const { entry, share } = drawBy(eligible, rng.next() * total);
        entry.uses++;
        return { id: entry.id, item: entry.item, weight: (share / least) ** -beta };
      });
    },
    state: entries.state,
    restore: entries.restore,
  };
}

function drawBy<Each extends { readonly share: number }>(from: readonly Each[], at: number): Each {
  let left = at;
  for (const each of from) {
    if (left < each.share) return each;
    left -= each.share;
  }
  return from.at(-1)!;
}

export interface SuccessOptions<Item> {
  capacity: number;
  isSuccess: (item: Item) => boolean;
  /** One is kept of each, the newest. */
  taskOf: (item: Item) => string;
}

const knownSuccessOptions: KnownOptions<SuccessOptions<unknown>> = { capacity: true, isSuccess: true, taskOf: true };

/** Successes alone, one for each task, all with the same chance (WebRL). */
export function successBuffer<Item>(options: SuccessOptions<Item>): ReplayBuffer<Item> {
  refuseUnknownOptions("successBuffer", options, knownSuccessOptions);
  const { capacity, isSuccess, taskOf } = options;
  const entries = entriesOf<Item>(capacity);
  return {
    name: "successes",
    get size() {
      return entries.all().length;
    },
    add(id, item) {
      if (!isSuccess(item)) return;
      entries.remove((entry) => taskOf(entry.item) === taskOf(item));
      entries.push(id, item);
    },
    draw(count, rng) {
      const drawn = shuffled(entries.all(), rng).slice(0, count);
      for (const entry of drawn) entry.uses++;
      return drawn.map(({ id, item }) => ({ id, item, weight: 1 }));
    },
    state: entries.state,
    restore: entries.restore,
  };
}
