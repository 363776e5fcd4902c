import { z } from "zod";
import type { Rng } from "../random.ts";

/** A task that was attempted, and how: the newest group counts whole, each one before it half as much as the one after. */
export interface SeenTask {
  readonly id: string;
  /** Where its source has it. */
  readonly index: number;
  readonly successes: number;
  readonly attempts: number;
  /** The number of the pick before which it was last observed. */
  readonly lastPick: number;
}

const discount = 0.5;
/** Of successes or of failures: with fewer, a task counts as one whose attempts all go the same way. */
const leastContrast = 0.5;

const Count = z.number().min(0);

/** A short form: there are thousands, and each step stores them. */
export const SeenTasksState = z.array(z.tuple([z.string(), z.int().min(0), Count, Count, z.int().min(0)]));

/** What a task is worth that comes again. */
export interface Weighing {
  /** By the estimated success rate. */
  readonly weight: (rate: number) => number;
  /** Whether tasks that no recent attempt solved are worth something, too. */
  readonly retriesUnsolved: boolean;
}

/** By the estimated rate (s + 1) / (n + 2); 0 where all attempts go the same way. */
export function learnabilityOf({ successes, attempts }: SeenTask, { weight, retriesUnsolved }: Weighing): number {
  const failures = attempts - successes;
  if (failures < leastContrast || (successes < leastContrast && !retriesUnsolved)) return 0;
  return Math.max(0, weight((successes + 1) / (attempts + 2)));
}

/** What is known of at most `capacity` tasks. The least learnable are forgotten first; of those, the ones seen longest ago. */
export class SeenTasks {
  readonly #capacity: number;
  readonly #weighing: Weighing;
  #tasks = new Map<string, SeenTask>();

  constructor(capacity: number, weighing: Weighing) {
    this.#capacity = capacity;
    this.#weighing = weighing;
  }

  get size(): number {
    return this.#tasks.size;
  }

  all(): SeenTask[] {
    return [...this.#tasks.values()];
  }

  /** Adds the newest group. */
  add(newest: SeenTask): void {
    const earlier = this.#tasks.get(newest.id);
    this.#tasks.set(newest.id, {
      ...newest,
      successes: discount * (earlier?.successes ?? 0) + newest.successes,
      attempts: discount * (earlier?.attempts ?? 0) + newest.attempts,
    });
  }

  forgetExcess(): void {
    const excess = this.#tasks.size - this.#capacity;
    if (excess <= 0) return;
    const worth = (task: SeenTask) => learnabilityOf(task, this.#weighing);
    const order = this.all().sort((a, b) => worth(a) - worth(b) || a.lastPick - b.lastPick);
    for (const { id } of order.slice(0, excess)) this.#tasks.delete(id);
  }

  state(): z.infer<typeof SeenTasksState> {
    return this.all().map(({ id, index, successes, attempts, lastPick }) => [id, index, successes, attempts, lastPick]);
  }

  restore(state: z.infer<typeof SeenTasksState>): void {
    this.#tasks = new Map(
      state.map(([id, index, successes, attempts, lastPick]) => [id, { id, index, successes, attempts, lastPick }]),
    );
  }
}

/** So small that a task whose attempts go the same way is drawn only where no other is left. */
const leastWeight = 1e-9;

/** At most `count` tasks, each once, with probabilities in proportion to learnability. */
export function drawLearnable(tasks: readonly SeenTask[], count: number, rng: Rng, weighing: Weighing): SeenTask[] {
  // one exponential waiting time for each: who comes first is drawn in proportion to the rates, and so is who comes next
  const waits = tasks.map((task) => ({
    task,
    wait: -Math.log(1 - rng.next()) / Math.max(learnabilityOf(task, weighing), leastWeight),
  }));
  return waits
    .sort((a, b) => a.wait - b.wait)
    .slice(0, count)
    .map(({ task }) => task);
}
