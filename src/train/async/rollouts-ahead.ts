import { z } from "zod";
import { LudusError } from "../../errors.ts";
import type { Lease } from "../../guide/guide.ts";
import { createLimiter } from "../../limiter.ts";
import type { Rollout } from "../../rollout/rollout.ts";
import type { RolloutGroup } from "../../rollout/run-group.ts";
import { FailureTally } from "../../schema/failure.ts";
import { metric } from "../../schema/metric-names.ts";
import { parseWith } from "../../schema/parse-with.ts";
import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import type { TrajectoryGroup } from "../../schema/trajectory-group.ts";
import type { GroupSource } from "../stages/gather.ts";
import { rewardStage } from "../stages/reward.ts";
import { rollOut } from "../stages/roll-out.ts";
import { RolloutCosts } from "../stages/rollout-metrics.ts";
import type { StepContext } from "../stages/stage-context.ts";
import { type AsyncOptions, bufferSize } from "./async-options.ts";
import { rolloutGroup, sampledTokens } from "./restored-group.ts";
import { StepStarts, stalenessMetrics } from "./staleness.ts";
import { WaitClock } from "./wait-clock.ts";

/** A place in the order of groups: which step it was begun for, and its number there. Names and seeds follow from it. */
interface Slot<Data> {
  readonly step: number;
  readonly index: number;
  /** Absent where the guide forgot it together with the step that picked it. */
  readonly lease?: Lease<Data>;
  /** Tells apart two groups of one place. */
  readonly again?: string;
}

interface Finished<Data> extends Slot<Data> {
  readonly group: RolloutGroup<Data>;
  /** All attempts, those that were made again included. */
  readonly attempts: readonly Rollout[];
  readonly rewardSeconds: number;
}

const State = z.object({
  nextStep: z.int(),
  slots: z.array(z.object({ step: z.int(), index: z.int() })),
  starts: z.array(z.object({ step: z.int(), version: z.int() })),
});

export interface AheadInput<Data> extends AsyncOptions {
  /** What a step's stages are given, and who is told when a group has finished. */
  readonly at: (step: number) => StepContext<Data>;
  readonly buffered: (group: RolloutGroup<Data>) => Promise<void>;
  readonly signal?: AbortSignal;
  /** The first step to be made, and the one after the last. */
  readonly first: number;
  readonly end: number;
  readonly restored: { readonly state?: unknown; readonly groups: readonly TrajectoryGroup[] };
}

/**
 * Rolls out groups ahead of the trainer, into a bounded buffer. A group of step s is begun once the trainer has come to step
 * s - staleness; the trainer takes the oldest that are complete, each once.
 */
export class RolloutsAhead<Data> {
  readonly #input: AheadInput<Data>;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  readonly #size: number;
  readonly #lock = createLimiter(1);
  readonly #starts: StepStarts;
  readonly #clock = new WaitClock();
  /** Picked and not observed, in the order they were picked. */
  readonly #underWay = new Set<Slot<Data>>();
  readonly #running = new Set<Promise<void>>();
  readonly #orphans = new Map<string, RolloutGroup<Data>>();
  #queue: Slot<Data>[] = [];
  #complete: Finished<Data>[] = [];
  /** Of the step that is being gathered: learned from, and dropped. */
  #taken: Finished<Data>[] = [];
  #dropped: Finished<Data>[] = [];
  #step: number;
  #nextStep: number;
  #extra = 0;
  #isPicking = false;
  #error: { readonly thrown: unknown } | undefined;
  #changed = Promise.withResolvers<void>();

  private constructor(input: AheadInput<Data>) {
    this.#input = input;
    this.#signal = AbortSignal.any([this.#stop.signal, ...(input.signal === undefined ? [] : [input.signal])]);
    this.#step = input.first;
    this.#size = bufferSize(input, input.at(input.first).tasksPerStep);
    const state =
      input.restored.state === undefined
        ? undefined
        : parseWith(State, input.restored.state, "groups under way", "bad-async-state");
    this.#nextStep = Math.max(input.first, state?.nextStep ?? input.first);
    this.#starts = new StepStarts(state?.starts);
  }

  /** Also takes up what a run that was broken off had under way. */
  static async open<Data>(input: AheadInput<Data>): Promise<RolloutsAhead<Data>> {
    const ahead = new RolloutsAhead(input);
    await ahead.#restore();
    input.signal?.addEventListener("abort", () => ahead.#wake(), { once: true });
    return ahead;
  }

  async #restore(): Promise<void> {
    const { restored, first, at, staleness } = this.#input;
    const { guide, policy } = at(first);
    const { policyVersion } = policy.engine.info;
    for (const stored of restored.groups) {
      const { name, group } = rolloutGroup<Data>(stored, policyVersion);
      // without staleness it will be rolled out again with the same weights, to the same bits
      if (group.isOffPolicy === true && staleness === 0) continue;
      this.#orphans.set(name, group);
    }
    const { slots } = State.catch({ nextStep: 0, slots: [], starts: [] }).parse(restored.state);
    if (slots.length > 0) this.#place(await guide.pick(slots.length), slots);
    for (const [name, group] of this.#orphans) {
      const [step, index] = name.slice("step-".length).split("/").map(Number.parseFloat);
      if (step < this.#nextStep) this.#forgotten(name, { step, index }, group);
    }
  }

  /** A group whose lease the guide does not know: it is learned from, and the guide is not told. */
  #forgotten(name: string, slot: Slot<Data>, group: RolloutGroup<Data>): void {
    this.#orphans.delete(name);
    this.#finish({ ...slot, group, attempts: group.rollouts, rewardSeconds: 0 });
  }

  #place(leases: readonly Lease<Data>[], places: readonly { step: number; index: number }[]): void {
    leases.forEach((lease, i) => {
      const place = places[i];
      const name = `step-${place.step}/${place.index}`;
      const group = this.#orphans.get(name);
      const isSame = group?.task.id === lease.task.id;
      if (group !== undefined && !isSame) this.#forgotten(name, place, group);
      const slot: Slot<Data> = { ...place, lease, ...(group === undefined || isSame ? {} : { again: "+1" }) };
      this.#underWay.add(slot);
      this.#orphans.delete(name);
      if (group !== undefined && isSame)
        this.#finish({ ...slot, group, attempts: group.rollouts, rewardSeconds: 0 }, slot);
      else this.#queue.push(slot);
    });
  }

  /** The trainer is at this step: rollouts of later ones may begin. */
  advance(step: number): void {
    const { policy } = this.#input.at(step);
    this.#step = step;
    this.#extra = 0;
    [this.#taken, this.#dropped] = [[], []];
    this.#starts.begin(step, policy.engine.info.policyVersion);
    void this.#fill();
  }

  /** Begins all that may begin. */
  async #fill(): Promise<void> {
    if (this.#isPicking) return;
    this.#isPicking = true;
    try {
      this.#submit();
      while (this.#mayPick()) await this.#lock(() => this.#pick());
    } catch (thrown) {
      this.#fail(thrown);
    } finally {
      this.#isPicking = false;
    }
  }

  get #length(): number {
    return this.#complete.length + this.#running.size;
  }

  #mayPick(): boolean {
    const { staleness, end } = this.#input;
    const isOpen = this.#nextStep < end && this.#nextStep <= this.#step + staleness;
    return isOpen && this.#queue.length === 0 && this.#length < this.#size && !this.#signal.aborted;
  }

  async #pick(): Promise<void> {
    const step = this.#nextStep;
    const { guide, tasksPerStep } = this.#input.at(step);
    const leases = await guide.pick(tasksPerStep);
    this.#nextStep++;
    this.#place(
      leases,
      leases.map((_, index) => ({ step, index })),
    );
    this.#submit();
  }

  /** More groups for the step that is being gathered, in place of those that taught nothing or were too old. */
  async #pickMore(count: number): Promise<void> {
    await this.#lock(async () => {
      const { guide, tasksPerStep } = this.#input.at(this.#step);
      const leases = await guide.pick(count);
      const first = tasksPerStep + this.#extra;
      this.#extra += count;
      this.#place(
        leases,
        leases.map((_, i) => ({ step: this.#step, index: first + i })),
      );
    });
    this.#submit(count);
  }

  #submit(beyond = 0): void {
    while (this.#queue.length > 0 && this.#length < this.#size + beyond && !this.#signal.aborted) {
      const slot = this.#queue.shift()!;
      const work = this.#rollOut(slot).catch((thrown: unknown) => this.#fail(thrown));
      this.#running.add(work);
      this.#clock.busy();
      void work.finally(() => {
        this.#running.delete(work);
        if (this.#running.size === 0) this.#clock.idle();
        this.#wake();
        void this.#fill();
      });
    }
  }

  async #rollOut(slot: Slot<Data>): Promise<void> {
    const context = this.#input.at(slot.step);
    const attempts: Rollout[] = [];
    const onRollout = (rollout: Rollout) => {
      attempts.push(rollout);
      context.onRollout?.(rollout);
    };
    const own = { ...context, onRollout, failures: new FailureTally("training"), signal: this.#signal };
    const reward = rewardStage<Data>(own);
    const input = { leases: [slot.lease!], offset: slot.index, reward, again: slot.again ?? "" };
    for await (const { group } of rollOut(own, input)) {
      // broken off: it will be rolled out again when the run is resumed
      if (this.#signal.aborted) return;
      await this.#input.buffered(group);
      const rewardSeconds = reward.metrics[metric.seconds("reward")];
      this.#finish({ ...slot, group, attempts, rewardSeconds }, slot);
    }
  }

  #finish(finished: Finished<Data>, slot?: Slot<Data>): void {
    if (slot !== undefined && this.#underWay.has(slot)) this.#slots.set(finished, slot);
    this.#complete.push(finished);
    this.#complete.sort((a, b) => a.step - b.step || a.index - b.index);
    this.#wake();
  }

  readonly #slots = new WeakMap<Finished<Data>, Slot<Data>>();

  #fail(thrown: unknown): void {
    this.#error ??= { thrown };
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Groups of the step that is being gathered. */
  source(context: StepContext<Data>): GroupSource<Data> {
    const costs = new RolloutCosts();
    let rewardSeconds = 0;
    let last: Finished<Data>[] = [];
    let isMore = false;
    return {
      take: async (wanted) => {
        if (isMore) await this.#pickMore(wanted);
        isMore = true;
        const taken = await this.#clock.trainerWaits(() => this.#take(wanted));
        if (taken === undefined) return undefined;
        last = taken;
        for (const { attempts, rewardSeconds: seconds } of last) {
          for (const attempt of attempts) {
            costs.add(attempt);
            context.failures.add(attempt);
          }
          rewardSeconds += seconds;
        }
        return last.map(({ group }) => group);
      },
      observe: () => this.#observe(last),
      get metrics() {
        return { ...costs.metrics, [metric.seconds("reward")]: rewardSeconds };
      },
    };
  }

  async #take(wanted: number): Promise<Finished<Data>[] | undefined> {
    for (;;) {
      if (this.#error !== undefined) throw this.#error.thrown;
      if (this.#signal.aborted) return undefined;
      await this.#dropOld();
      if (this.#complete.length >= wanted) break;
      const { promise } = this.#changed;
      await this.#fill();
      if (this.#running.size === 0 && this.#queue.length === 0 && !this.#isPicking) this.#refuseToWait(wanted);
      await promise;
    }
    const taken = this.#complete.splice(0, wanted);
    this.#taken.push(...taken);
    void this.#fill();
    return taken;
  }

  #refuseToWait(wanted: number): void {
    if (this.#complete.length >= wanted || this.#error !== undefined || this.#signal.aborted) return;
    throw new LudusError("no-groups", {
      got: `${this.#complete.length} finished groups at step ${this.#step}, and none under way`,
      expected: `${wanted}`,
      hint: "A guide hands out as many leases as it is asked for; this one has handed out fewer.",
    });
  }

  async #dropOld(): Promise<void> {
    const { maxAge = Number.POSITIVE_INFINITY } = this.#input;
    if (maxAge === Number.POSITIVE_INFINITY) return;
    const old = this.#complete.filter(({ group }) => Math.max(0, ...this.#starts.ages([group]).keys()) > maxAge);
    if (old.length === 0) return;
    this.#complete = this.#complete.filter((each) => !old.includes(each));
    this.#dropped.push(...old);
    await this.#observe(old);
    await this.#pickMore(old.length);
  }

  async #observe(finished: readonly Finished<Data>[]): Promise<readonly TrajectoryGroup<Data>[]> {
    const { guide } = this.#input.at(this.#step);
    return await this.#lock(async () => {
      const leased = finished.flatMap(({ lease, group }) => (lease === undefined ? [] : [{ lease, group }]));
      const extra = leased.length === 0 ? [] : await guide.observe(leased);
      for (const each of finished) this.#underWay.delete(this.#slots.get(each)!);
      return extra;
    });
  }

  /** Of the step that was gathered: how old its tokens are, who waited for whom, what was thrown away. */
  metrics(): Record<string, number> {
    const failed = this.#taken.flatMap(({ attempts }) => attempts.filter(({ stop }) => isInfrastructureStop(stop)));
    const lost = [...failed, ...this.#dropped.map(({ group }) => group)];
    return {
      ...stalenessMetrics(this.#starts.ages(this.#taken.map(({ group }) => group))),
      ...this.#clock.metrics(),
      [metric.bufferLength]: this.#complete.length,
      [metric.droppedTokens]: lost.reduce((sum, { trajectories }) => sum + sampledTokens(trajectories), 0),
    };
  }

  exclusive<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#lock(work);
  }

  state(): z.infer<typeof State> {
    const slots = [...this.#underWay].map(({ step, index }) => ({ step, index }));
    return { nextStep: this.#nextStep, slots, starts: [...this.#starts.state()] };
  }

  /** Groups that are the step's, or nobody's, from now on; by a rollout of each. */
  taken(): readonly string[] {
    const groups = [...this.#taken, ...this.#dropped].map(({ group }) => group);
    return groups.flatMap(({ trajectories }) => trajectories.slice(0, 1).map(({ rollout }) => rollout));
  }

  /** Breaks off what is under way. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
