// A process that makes embedded engines and closes each in the middle of something, as `scripts/soak-close.ts` asks.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type EmbeddedOptions, embedded } from "../../src/engine/embedded/embedded.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { tiny } from "../../src/engine/model/model-config.ts";
import { LudusError } from "../../src/errors.ts";
import { createRng, type Rng } from "../../src/random.ts";

const sessions = tiny({ vocabularySize: 24, width: 40, headWidth: 8, keyValueHeads: 1, layers: 2, contextLength: 128 });
const kernels = { ...sessions, width: 48, headWidth: 16, heads: 2, keyValueHeads: 1, feedForwardWidth: 64 };
// above the size that is data parallel: one thread and its helpers
const team = tiny({ vocabularySize: 24_000, width: 512, headWidth: 64, heads: 8, layers: 2, contextLength: 128 });

/** What the engines compute with: ONNX Runtime's sessions, kernels of one thread, kernels that several threads compute together. */
export const kinds: Readonly<Record<string, EmbeddedOptions>> = {
  sessions: { model: sessions, valueHead: true, threads: 2 },
  kernels: { model: kernels, valueHead: true, threads: 2 },
  team: { model: team, threads: 2, maxCacheBytes: 2 ** 26 },
};

const rows = Array.from({ length: 8 }, (_, b) => ({ tokens: Array.from({ length: 100 }, (_, t) => (b + t * 7) % 24) }));
const derivatives = { logprobs_B_T: rows.map(({ tokens }) => new Float32Array(tokens.length).fill(0.01)) };

/** Calls without end, until the engine is closed. */
function work(engine: Engine, folder: string): readonly (() => Promise<unknown>)[] {
  const train = async () => {
    await engine.backward(await engine.forward({ rows }), derivatives);
    await engine.step({ learningRate: 1e-4 });
  };
  return [
    () => engine.sample({ tokens: [1, 2, 3], maxTokens: 120, seed: 1 }),
    () => engine.sample({ tokens: [4], maxTokens: 120, seed: 2, rollout: "kept" }),
    () => engine.forward({ rows }),
    train,
    () => engine.snapshot("copy"),
    async () => {
      await engine.save(join(folder, "saved"));
      await engine.load(join(folder, "saved"));
    },
  ];
}

/** How a promise that was under way ended. */
const ends: Record<string, number> = {};

async function until(isOver: () => boolean, run: () => Promise<unknown>): Promise<void> {
  while (!isOver()) {
    try {
      await run();
    } catch (error) {
      const code = error instanceof LudusError ? error.code : String(error);
      if (code === "gradient-pending" || code === "no-gradient") continue;
      ends[code] = (ends[code] ?? 0) + 1;
      return;
    }
  }
}

async function begin(kind: string, folder: string): Promise<{ engine: Engine; over: () => Promise<unknown> }> {
  const engine = await embedded({ ...kinds[kind], seed: 1 });
  let isOver = false;
  const loops = work(engine, folder).map((run) => until(() => isOver, run));
  const over = () => {
    isOver = true;
    return Promise.all(loops);
  };
  return { engine, over };
}

async function closeOne(kind: string, rng: Rng): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "ludus-close-"));
  try {
    const { engine, over } = await begin(kind, folder);
    await delay(rng.next() ** 2 * longestMs(kind));
    await Promise.all([engine.close(), engine.close(), over()]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const longestMs = (kind: string) => (kind === "team" ? 400 : 120);

const [kind, end, seed, rounds] = process.argv.slice(2);
const rng = createRng(Number(seed));
if (end === "exit") {
  const folder = mkdtempSync(join(tmpdir(), "ludus-close-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  await begin(kind, folder);
  await delay(rng.next() * longestMs(kind));
  process.send?.({ rounds: 1, ends }, () => process.exit(0));
} else {
  for (let done = 0; done < Number(rounds); done++) {
    // two engines at a time: one is closed while the other computes
    await Promise.all([closeOne(kind, rng), closeOne(kind, rng)]);
    process.send?.({ rounds: 2 * (done + 1), ends });
  }
  process.disconnect?.();
}
