import { LudusError } from "../../errors.ts";
import { type OptimizerOptions, policyWeights, type StepReport } from "../engine.ts";
import type { LoadedSet, SavedSet } from "../model/model-folder.ts";
import type { NamedTensor } from "../model/safetensors.ts";
import type { Range } from "./adamw.ts";
import type { ComputePool } from "./compute-pool.ts";
import { namedTensors, sharedFloats, type WeightLayout } from "./weights.ts";

type Shared = Float32Array<SharedArrayBuffer>;

interface WeightSet {
  weights: Shared;
  version: number;
  /** Absent for a frozen snapshot. */
  training: { firstMoments: Shared; secondMoments: Shared; steps: number } | undefined;
  /** What each thread has accumulated; undefined where it has nothing. */
  gradients: (Shared | undefined)[];
  /** Gradient memory between steps, one piece per thread, made when first needed. */
  spare: (Shared | undefined)[];
}

/** The named weights of an engine: the policy, its frozen snapshots, further trainable sets. */
export class WeightSets {
  readonly #pool: ComputePool;
  readonly #layout: WeightLayout;
  readonly #sets = new Map<string, WeightSet>();

  constructor(pool: ComputePool, layout: WeightLayout) {
    this.#pool = pool;
    this.#layout = layout;
  }

  get names(): string[] {
    return [...this.#sets.keys()];
  }

  get policyVersion(): number {
    return this.#sets.get(policyWeights)?.version ?? 0;
  }

  async add(
    name: string,
    set: { weights: Shared; version: number; training?: WeightSet["training"] },
    isTrainable: boolean,
  ): Promise<void> {
    const training = isTrainable ? (set.training ?? this.#freshTraining()) : undefined;
    this.#sets.set(name, { weights: set.weights, version: set.version, training, gradients: [], spare: [] });
    await this.#pool.all("setWeights", { name, all: set.weights, version: set.version });
  }

  #freshTraining(): WeightSet["training"] {
    return {
      firstMoments: sharedFloats(this.#layout.size),
      secondMoments: sharedFloats(this.#layout.size),
      steps: 0,
    };
  }

  async forget(name: string): Promise<void> {
    if (!this.#sets.delete(name)) return;
    await this.#pool.all("forgetWeights", { name });
  }

  async snapshot(name: string, from: string, isTrainable: boolean): Promise<void> {
    const source = this.#sets.get(from);
    if (source === undefined || name === policyWeights) {
      throw new LudusError("bad-snapshot", {
        got: `a snapshot "${name}" of "${from}"`,
        expected: `a new name, and a source among ${this.names.join(", ")}`,
      });
    }
    await this.#pool.exclusive("snapshot", async () => {
      const weights = sharedFloats(this.#layout.size);
      weights.set(source.weights);
      await this.forget(name);
      await this.add(name, { weights, version: source.version }, isTrainable);
    });
  }

  #trainable(name: string): WeightSet & { training: NonNullable<WeightSet["training"]> } {
    const set = this.#sets.get(name);
    if (set?.training !== undefined) return set as WeightSet & { training: NonNullable<WeightSet["training"]> };
    throw new LudusError("frozen-weights", {
      got: `training of "${name}"`,
      expected: "trainable weights",
      hint: "Make them with snapshot(name, { trainable: true }).",
    });
  }

  checkTrainable(name: string): void {
    this.#trainable(name);
  }

  /** Where a thread accumulates; `isFirst` when nothing has been accumulated there since the last step. */
  gradient(name: string, thread: number): { gradient: Shared; isFirst: boolean } {
    const set = this.#trainable(name);
    const known = set.gradients[thread];
    if (known !== undefined) return { gradient: known, isFirst: false };
    const gradient = set.spare[thread] ?? sharedFloats(this.#layout.size);
    set.spare[thread] = gradient;
    set.gradients[thread] = gradient;
    return { gradient, isFirst: true };
  }

  /** Sums the threads' gradients, clips, and applies AdamW, each thread a part of the weights. */
  async step(name: string, options: OptimizerOptions): Promise<StepReport> {
    const set = this.#trainable(name);
    const gradients = set.gradients.filter((gradient) => gradient !== undefined);
    if (gradients.length === 0) {
      throw new LudusError("no-gradient", {
        got: "a step without a gradient",
        expected: "at least one backward() with a non-zero derivative since the last step",
        hint: "Skip the step when every advantage is zero.",
      });
    }
    const ranges = this.#ranges();
    const squares = await this.#pool.each<unknown, number>(
      "reduce",
      ranges.map((range) => ({ gradients, range })),
    );
    set.gradients = [];
    const gradientNorm = Math.sqrt(squares.reduce<number>((sum, square) => sum + (square ?? 0), 0));
    if (!Number.isFinite(gradientNorm)) {
      return { gradientNorm, applied: false, clipped: false, policyVersion: this.policyVersion };
    }
    const limit = options.maxGradientNorm ?? Number.POSITIVE_INFINITY;
    const clipped = gradientNorm > limit;
    const { firstMoments, secondMoments } = set.training;
    const step = ++set.training.steps;
    const update = { ...options, step, gradientScale: clipped ? limit / (gradientNorm + 1e-6) : 1 };
    const state = { weights: set.weights, firstMoments, secondMoments };
    const change = async () => {
      await this.#pool.each(
        "adamw",
        ranges.map((range) => ({ state, gradient: gradients[0], range, options: update })),
      );
      return ++set.version;
    };
    await this.#pool.whileHeld([name], change, options.caches);
    return { gradientNorm, applied: true, clipped, policyVersion: this.policyVersion };
  }

  #ranges(): Range[] {
    const count = this.#pool.workers.length;
    const size = Math.ceil(this.#layout.size / count);
    return Array.from({ length: count }, (_, i) => ({
      start: Math.min(i * size, this.#layout.size),
      end: Math.min((i + 1) * size, this.#layout.size),
    }));
  }

  /** Everything a checkpoint holds, or the policy's weights alone. */
  toSave(onlyPolicy = false): SavedSet<readonly NamedTensor[]>[] {
    const tensors = (all: Shared) => namedTensors(all, this.#layout);
    const sets = [...this.#sets].filter(([name]) => !onlyPolicy || name === policyWeights);
    return sets.map(([name, { weights, training, version, gradients }]) => {
      if (gradients.some((gradient) => gradient !== undefined)) {
        throw new LudusError("gradient-pending", {
          got: `a gradient of "${name}" that no step has used`,
          expected: "none",
          hint: "Call step() first: a checkpoint holds weights and optimizer, not half a step.",
        });
      }
      const saved: SavedSet<readonly NamedTensor[]> = { name, weights: tensors(weights), version };
      if (training !== undefined && !onlyPolicy) {
        const { firstMoments, secondMoments, steps } = training;
        saved.training = { firstMoments: tensors(firstMoments), secondMoments: tensors(secondMoments), steps };
      }
      return saved;
    });
  }

  /** Puts saved sets in place of all there are. */
  async replace(read: () => LoadedSet<Shared>[]): Promise<void> {
    await this.#pool.whileHeld(this.names, async () => {
      const loaded = read();
      for (const name of this.names) if (!loaded.some((set) => set.name === name)) await this.forget(name);
      for (const set of loaded) await this.add(set.name, set, set.isTrainable);
      return this.policyVersion;
    });
  }
}
