import { createHash, type Hash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { checkManifest, writeManifest } from "../checkpoint/manifest.ts";
import { packageVersion } from "../checkpoint/package-version.ts";
import { bytesIn, folderHash } from "../checkpoint/weights-hash.ts";
import type { Engine } from "../engine/engine.ts";
import { jsonReal, Real } from "../schema/json-real.ts";
import type { LearnRow } from "./learn-row.ts";
import { scheduleAt } from "./schedule.ts";
import type { Metrics } from "./stages/stage-context.ts";
import type { WarmStart, WarmStartBatches } from "./warm-start.ts";

/** All entries together; those that were not used for longest go first. */
const maxBytes = 2 ** 32;
/** An entry: weights and two moments of 4 bytes each. Larger models are not cached. */
const maxEntryBytes = 2 ** 30;
const metricsFile = "metrics.json";
const weightsFolder = "weights";

const StepMetrics = z.array(z.record(z.string(), Real));

/**
 * Finished warm starts by what determines them, so that a second run with the same one loads its result. The key is a hash of
 * the engine as it was before (weights, moments, model, tokenizer), of every row of every step, and of what they were learned with.
 */
export class WarmStartCache {
  readonly #directory: string;
  readonly #key: string;

  private constructor(directory: string, key: string) {
    this.#directory = directory;
    this.#key = key;
  }

  /** Undefined where the model is too large to be cached, or its weights are elsewhere. */
  static async open(
    directory: string,
    engine: Engine,
    { plan, batches, seed }: { plan: WarmStart; batches: WarmStartBatches; seed: number },
  ): Promise<WarmStartCache | undefined> {
    if (engine.info.parameters * 12 > maxEntryBytes) return undefined;
    if (engine.info.lacks?.includes("weight-files") === true) return undefined;
    mkdirSync(directory, { recursive: true });
    const scratch = mkdtempSync(join(directory, ".before-"));
    try {
      const before = join(scratch, weightsFolder);
      await engine.save(before);
      const key = createHash("sha256");
      key.update(existsSync(before) ? folderHash(before) : "nothing");
      key.update(JSON.stringify([surroundings(engine), plan.name, plan.steps, plan.loss.name, seed]));
      for (let step = 0; step < plan.steps; step++) {
        key.update(`${scheduleAt(plan.learningRate, step / plan.steps)}`);
        for (const row of batches.rows(step)) updateRow(key, row);
      }
      return new WarmStartCache(directory, key.digest("hex").slice(0, 40));
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }

  get path(): string {
    return join(this.#directory, this.#key);
  }

  /** Puts the finished weights into the engine. Returns the metrics of its steps; undefined where there is nothing whole. */
  async load(engine: Engine): Promise<readonly Metrics[] | undefined> {
    if (!existsSync(this.path)) return undefined;
    let metrics: readonly Metrics[];
    try {
      checkManifest(join(this.path, weightsFolder));
      metrics = StepMetrics.parse(JSON.parse(readFileSync(join(this.path, metricsFile), "utf8")));
    } catch {
      // damaged: made again
      rmSync(this.path, { recursive: true, force: true });
      return undefined;
    }
    await engine.load(join(this.path, weightsFolder));
    const now = new Date();
    utimesSync(this.path, now, now);
    return metrics;
  }

  async store(engine: Engine, metrics: readonly Metrics[]): Promise<void> {
    const partial = mkdtempSync(join(this.#directory, ".partial-"));
    try {
      const weights = join(partial, weightsFolder);
      await engine.save(weights);
      mkdirSync(weights, { recursive: true });
      writeManifest(weights);
      const written = metrics.map((step) =>
        Object.fromEntries(Object.entries(step).map(([name, value]) => [name, jsonReal(value)])),
      );
      writeFileSync(join(partial, metricsFile), JSON.stringify(written));
      // another run may have stored the same meanwhile
      if (!existsSync(this.path)) renameSync(partial, this.path);
    } finally {
      rmSync(partial, { recursive: true, force: true });
    }
    removeOldest(this.#directory);
  }
}

/** What the same numbers depend on besides: versions, the processor, the number of threads. */
function surroundings({ info }: Engine): readonly unknown[] {
  const { name, device, implementation, vocabularySize, contextLength, parameters, hasValues } = info;
  const machine = [process.version, process.arch, cpus()[0]?.model];
  const sizes = [vocabularySize, contextLength, parameters, hasValues];
  return [packageVersion(), ...machine, name, device, implementation, ...sizes];
}

function updateRow(key: Hash, row: LearnRow): void {
  const { tokens_T, mask_T, behaviourLogprobs_T, advantages_T } = row;
  const { id, group, rollout, role, weight, reward, weights, temperature, turns } = row;
  key.update(JSON.stringify([id, group, rollout, role, weight, reward, weights, temperature, turns, tokens_T.length]));
  for (const values_T of [tokens_T, mask_T, behaviourLogprobs_T, advantages_T]) {
    key.update(new Uint8Array(values_T.buffer, values_T.byteOffset, values_T.byteLength));
  }
}

function removeOldest(directory: string): void {
  const entries = readdirSync(directory)
    .filter((name) => /^[0-9a-f]{40}$/.test(name))
    .map((name) => ({ path: join(directory, name), used: statSync(join(directory, name)).mtimeMs }))
    .sort((a, b) => b.used - a.used);
  let bytes = 0;
  for (const { path } of entries) {
    bytes += bytesIn(path);
    if (bytes > maxBytes) rmSync(path, { recursive: true, force: true });
  }
}
