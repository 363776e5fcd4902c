import { embedded } from "../../../src/engine/embedded/embedded.ts";
import type { Engine } from "../../../src/engine/engine.ts";
import { countParameters, type ModelConfig, small } from "../../../src/engine/model/model-config.ts";
import { createRng } from "../../../src/random.ts";
import type { BenchmarkContext } from "../../benchmark.ts";
import { randomTokens_B_T } from "../../random-rows.ts";
import { median } from "../../statistics.ts";
import { computedFlops } from "../flops.ts";
import type { HistoryPoint, Reuse, TurnsPoint } from "./records.ts";

const model = small({ vocabularySize: 259, contextLength: 16_384 });
const rounds = 3;

interface Conversation {
  rollouts: number;
  /** Tokens before the first turn that is timed. */
  history: number;
  turns: number;
  perTurn: number;
  /** Read before each turn but the first; before it too where the history was computed earlier. */
  observed: number;
  /** Whether the history is computed before the clock starts. */
  isPrefilled: boolean;
}

/** Seconds of all turns of all rollouts, which go on side by side. */
async function play(engine: Engine, one: Conversation, isReused: boolean, name: string): Promise<number> {
  const prompts = randomTokens_B_T(createRng(1), one.rollouts, one.history, model.vocabularySize);
  const observation = Array.from({ length: one.observed }, (_, i) => (i * 37) % model.vocabularySize);
  const rows = prompts.map((prompt, i) => ({ rollout: `${name}/${i}`, tokens: [...prompt], seed: i }));
  const speak = async ({ rollout, tokens, seed }: (typeof rows)[number], maxTokens: number) => {
    const sample = await engine.sample({ tokens, maxTokens, seed, rollout });
    tokens.push(...sample.tokens);
  };
  if (one.isPrefilled) await Promise.all(rows.map((row) => speak(row, 1)));
  const started = performance.now();
  await Promise.all(
    rows.map(async (row) => {
      for (let turn = 0; turn < one.turns; turn++) {
        const isFirst = turn === 0 && !one.isPrefilled;
        if (!isFirst) row.tokens.push(...observation);
        if (!(isFirst || isReused)) await engine.release({ rollout: row.rollout });
        await speak(row, one.perTurn);
      }
    }),
  );
  const seconds = (performance.now() - started) / 1000;
  await Promise.all(rows.map(({ rollout }) => engine.release({ rollout })));
  return seconds;
}

/** What one rollout has to compute, in spans of tokens of which the last are sampled. */
function spans(one: Conversation, isReused: boolean): { from: number; to: number; sampled: number }[] {
  let length = one.history + (one.isPrefilled ? 1 : 0);
  let computed = one.isPrefilled ? one.history : 0;
  return Array.from({ length: one.turns }, (_, turn) => {
    if (turn > 0 || one.isPrefilled) length += one.observed;
    const from = isReused ? computed : 0;
    // the last token that is sampled is not run through the model in its turn
    computed = length + one.perTurn - 1;
    length += one.perTurn;
    return { from, to: computed, sampled: one.perTurn };
  });
}

function reuse(one: Conversation, isReused: boolean, seconds: readonly number[]): Reuse {
  const all = spans(one, isReused);
  const flops = all.reduce((sum, span) => sum + computedFlops(model, countParameters(model), span), 0);
  return {
    seconds: median(seconds),
    gigaflop: (one.rollouts * flops) / 1e9,
    prefilled: all.reduce((sum, { from, to, sampled }) => sum + to - from - (sampled - 1), 0),
  };
}

interface Both {
  reused: Reuse;
  anew: Reuse;
}

/** With and without the cache, by turns. */
async function measure(engine: Engine, one: Conversation, signal: AbortSignal): Promise<Both> {
  const seconds = { reused: [] as number[], anew: [] as number[] };
  await play(engine, { ...one, rollouts: 1, turns: 1 }, true, "warm-up");
  for (let round = 0; round < rounds; round++) {
    signal.throwIfAborted();
    seconds.reused.push(await play(engine, one, true, `reused ${round}`));
    seconds.anew.push(await play(engine, one, false, `anew ${round}`));
  }
  return {
    reused: reuse(one, true, seconds.reused),
    anew: reuse(one, false, seconds.anew),
  };
}

async function withEngine<Result>(use: (engine: Engine) => Promise<Result>): Promise<Result> {
  const engine = await embedded({ model, seed: 1 });
  try {
    return await use(engine);
  } finally {
    await engine.close();
  }
}

export const growthModel: { config: ModelConfig; parameters: number } = {
  config: model,
  parameters: countParameters(model),
};

const turnCounts = [1, 2, 4, 8, 16, 32];
const totalTokens = 128;
const tokensPerTurn = 16;

export function measureTurns({ signal, progress }: BenchmarkContext): Promise<TurnsPoint[]> {
  return withEngine(async (engine) => {
    const points: TurnsPoint[] = [];
    for (const series of ["same total", "same per turn"] as const) {
      for (const turns of turnCounts) {
        const perTurn = series === "same total" ? totalTokens / turns : tokensPerTurn;
        const one = { rollouts: 16, history: 64, turns, perTurn, observed: 8, isPrefilled: false };
        const measured = await measure(engine, one, signal);
        points.push({ series, turns, rollouts: one.rollouts, newTokens: turns * perTurn, ...measured });
        progress(
          `${series}, ${turns} turns: ${measured.reused.seconds.toFixed(2)} s, anew ${measured.anew.seconds.toFixed(2)} s`,
        );
      }
    }
    return points;
  });
}

const histories = [256, 512, 1024, 2048, 4096, 8192];

export function measureHistory({ signal, progress }: BenchmarkContext): Promise<HistoryPoint[]> {
  return withEngine(async (engine) => {
    const points: HistoryPoint[] = [];
    for (const history of histories) {
      const one = { rollouts: 4, history, turns: 1, perTurn: 32, observed: 32, isPrefilled: true };
      const measured = await measure(engine, one, signal);
      points.push({ history, rollouts: one.rollouts, observed: one.observed, newTokens: one.perTurn, ...measured });
      progress(
        `history ${history}: ${measured.reused.seconds.toFixed(3)} s, anew ${measured.anew.seconds.toFixed(3)} s`,
      );
    }
    return points;
  });
}
