import { createRng, type LearningPolicy, type TaskSource } from "ludus";
import { runRollout } from "ludus/rollout";
import {
  type AbsoluteZeroTask,
  absoluteZeroWorld,
  inputsOf,
  type Kind,
  kinds,
  readProposal,
  referenceOf,
  type Triple,
} from "./world.ts";

export interface SelfPlayOptions {
  readonly policy: LearningPolicy;
  readonly seed: number;
  readonly kinds: readonly Kind[];
  /** Earlier programs that a proposer is shown; 6 in the paper. */
  readonly references: number;
}

/** Attempts of the solver at each proposal, as published. */
const samples = 8;
const recent = 64;

/** The buffer of all that was proposed and could be run, and the tasks that are made of it. It begins with the identity, as published. */
export class SelfPlay {
  readonly world;
  readonly #options: SelfPlayOptions;
  readonly #triples: Record<Kind, Triple[]>;
  readonly #seen = new Set<string>();
  /** Of proposals, since they were last asked for. */
  #counts = { valid: 0, share: 0 };

  constructor(options: SelfPlayOptions) {
    this.#options = options;
    const identity: Triple = { program: "a=a", inputs: [1], outputs: [1] };
    const many: Triple = { program: "a=a", inputs: [0, 1, 2, 3, 4, 5], outputs: [0, 1, 2, 3, 4, 5] };
    this.#triples = { deduction: [identity], abduction: [identity], induction: [many] };
    const made = new Map<string, AbsoluteZeroTask>();
    const tasks: TaskSource<AbsoluteZeroTask> = {
      name: "absolute-zero-own",
      splits: ["train", "test"],
      size: () => Number.POSITIVE_INFINITY,
      at: (split, index) => {
        const id = `${split}/${index}`;
        // what is made of the buffer as it is now stays the task of its number
        const data = made.get(id) ?? this.#make(index);
        made.set(id, data);
        return { id, seed: index, data, domain: `${data.role} ${data.kind}` };
      },
    };
    this.world = absoluteZeroWorld({ tasks, solve: (task, signal) => this.#solve(task, signal) });
  }

  /** Kinds and roles in turn. */
  #make(index: number): AbsoluteZeroTask {
    const { kinds: used, references, seed } = this.#options;
    const rng = createRng(seed * 1_000_003 + index);
    const role = index % 2 === 0 ? "propose" : "solve";
    const kind = used[(index >> 1) % used.length]!;
    const [own, triples] = [this.#triples[kind], this.#triples.deduction];
    const last = own.slice(-recent);
    const from = rng.integer(2) === 0 ? last : own;
    const all = kinds.flatMap((each) => this.#triples[each]);
    // a proposer of inputs is given any program; others are drawn from tasks of their kind
    const drawn = role === "propose" && kind === "induction" ? all : from;
    return {
      role,
      kind,
      ...drawn[rng.integer(drawn.length)]!,
      references: Array.from({ length: references }, () => referenceOf(triples[rng.integer(triples.length)]!)),
    };
  }

  async #solve(task: AbsoluteZeroTask, signal: AbortSignal): Promise<number> {
    const { policy, seed } = this.#options;
    const { program, inputs, kind } = task;
    this.#counts.valid += 1;
    const id = `${kind} ${program} ${inputs.join(" ")}`;
    const attempts = Array.from({ length: samples }, (_, i) =>
      runRollout(this.world, { id, seed: i, data: task }, policy, {
        id: `${id}/${i}`,
        seed: seed * samples + i,
        signal,
      }),
    );
    const played = await Promise.all(attempts);
    const share = played.filter(({ trajectories }) => trajectories[0]?.score.success === true).length / samples;
    this.#counts.share += share;
    this.#keep(kind, task);
    return share;
  }

  #keep(kind: Kind, { program, inputs, outputs }: Triple): void {
    const key = `${kind} ${program} ${inputs.join(" ")}`;
    if (this.#seen.has(key) || (kind === "induction" && inputs.length < inputsOf(kind) - 2)) return;
    this.#seen.add(key);
    this.#triples[kind].push({ program, inputs, outputs });
  }

  /** Proposals of the policy as it is, for a buffer to begin with. Nothing is learned from them. */
  async fill(count: number): Promise<void> {
    const { policy, seed } = this.#options;
    for (let from = 0; from < count; from += 64) {
      const asked = Array.from({ length: 64 }, async (_, i) => {
        const data = this.#make(2 * (from + i));
        const options = { id: `fill/${from + i}`, seed: seed * 10_000 + from + i };
        const task = { id: options.id, seed: options.seed, data };
        const { trajectories } = await runRollout(
          absoluteZeroWorld({ tasks: this.world.tasks }),
          task,
          policy,
          options,
        );
        return [data, await readProposal(data, trajectories[0]?.turns[0]?.text ?? "")] as const;
      });
      for (const [{ kind }, proposal] of await Promise.all(asked)) if (proposal) this.#keep(kind, proposal);
    }
    this.#counts = { valid: 0, share: 0 };
  }

  /** How many tasks are kept, and how often the solver solved what was proposed since the last call. */
  report(): { kept: number; share: number } {
    const { valid, share } = this.#counts;
    this.#counts = { valid: 0, share: 0 };
    return {
      kept: kinds.reduce((sum, kind) => sum + this.#triples[kind].length, 0),
      share: valid === 0 ? 0 : share / valid,
    };
  }
}
