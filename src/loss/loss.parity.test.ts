import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { cispoLoss } from "./cispo-loss.ts";
import { sumLosses } from "./combine.ts";
import { makeRow } from "./contract/make-row.ts";
import { truncatedRatio } from "./corrections.ts";
import { dpoLoss } from "./dpo-loss.ts";
import { entropyBonus } from "./entropy-bonus.ts";
import { klPenalty } from "./kl.ts";
import { ktoLoss } from "./kto-loss.ts";
import type { Loss, LossRow } from "./loss.ts";
import { ppoClip } from "./ppo-clip.ts";
import { totalsOf } from "./totals.ts";

// Runs where LUDUS_PYTHON names a Python with TRL: the same rows through TRL's loss code and through ours.
const python = process.env.LUDUS_PYTHON;
const tolerance = 1e-5;

const rng = createRng(11);
const [B, T] = [8, 24];
const numbers = (make: (t: number) => number) => Float32Array.from({ length: T }, (_, t) => make(t));
const near = (array_T: Float32Array) => numbers((t) => Math.min(0, array_T[t] + 0.4 * rng.normal()));

/** Chosen ones first, as DPOTrainer has them; token 0 is the prompt's, and every row has something to learn from. */
const rows: LossRow[] = Array.from({ length: B }, (_, b) => {
  const logprobs_T = numbers(() => -3 * rng.next());
  const oldLogprobs_T = near(logprobs_T);
  const length = 4 + rng.integer(T - 4);
  const mask_T = Uint8Array.from({ length: T }, (_, t) =>
    t > 0 && t < length && (t === 1 || rng.next() < 0.8) ? 1 : 0,
  );
  return makeRow({
    id: `${b}`,
    logprobs_T,
    oldLogprobs_T,
    mask_T,
    behaviourLogprobs_T: near(oldLogprobs_T),
    referenceLogprobs_T: near(logprobs_T),
    entropies_T: numbers(() => 2 * rng.next()),
    advantages_T: new Float32Array(T).fill(rng.normal()),
    preference: { pair: b % (B / 2), chosen: b < B / 2 },
  });
});

interface Case {
  readonly trl: { trainer: "grpo" | "dpo" | "kto"; [option: string]: string | number };
  readonly loss: Loss;
}

const grpo = { trainer: "grpo", loss_type: "grpo" } as const;
const dapo = { trainer: "grpo", loss_type: "dapo" } as const;
const ipo = { trainer: "dpo", loss_type: "ipo" } as const;
const cases: Record<string, Case> = {
  GRPO: { trl: grpo, loss: ppoClip({ aggregation: "seq-mean-token-mean" }) },
  "GRPO with a KL penalty": {
    trl: { ...grpo, beta: 0.04 },
    loss: sumLosses([
      ppoClip({ aggregation: "seq-mean-token-mean" }),
      klPenalty({ coefficient: 0.04, aggregation: "seq-mean-token-mean" }),
    ]),
  },
  "GRPO with an entropy bonus": {
    trl: { ...grpo, entropy_coef: 0.01 },
    loss: sumLosses([ppoClip({ aggregation: "seq-mean-token-mean" }), entropyBonus({ coefficient: 0.01 })]),
  },
  DAPO: { trl: { ...dapo, epsilon_high: 0.28 }, loss: ppoClip({ clipHigh: 0.28 }) },
  "DAPO with dual clip": {
    trl: { ...dapo, epsilon_high: 0.28, delta: 1.5 },
    loss: ppoClip({ clipHigh: 0.28, dualClip: true, dualClipBound: 1.5 }),
  },
  "DAPO with truncated importance sampling": {
    trl: { ...dapo, cap: 2 },
    loss: ppoClip({ corrections: [truncatedRatio({ cap: 2 })] }),
  },
  "Dr.GRPO": {
    trl: { trainer: "grpo", loss_type: "dr_grpo", max_completion_length: 50 },
    loss: ppoClip({ aggregation: { mode: "seq-mean-token-sum-norm", length: 50 } }),
  },
  GSPO: {
    trl: { ...grpo, level: "sequence", epsilon_low: 0.05, epsilon_high: 0.06 },
    loss: ppoClip({ ratio: "sequence", clipLow: 0.05, clipHigh: 0.06, aggregation: "seq-mean-token-mean" }),
  },
  CISPO: { trl: { trainer: "grpo", loss_type: "cispo", epsilon_high: 1.3 }, loss: cispoLoss({ cap: 1.3 }) },
  "CISPO by sequence": {
    trl: { trainer: "grpo", loss_type: "cispo", epsilon_high: 1.05, level: "sequence" },
    loss: cispoLoss({ cap: 1.05, ratio: "sequence" }),
  },
  DPO: { trl: { trainer: "dpo", loss_type: "sigmoid", beta: 0.3 }, loss: dpoLoss({ beta: 0.3 }) },
  IPO: { trl: { ...ipo, beta: 0.3 }, loss: dpoLoss({ beta: 0.3, variant: "ipo" }) },
  KTO: {
    trl: { trainer: "kto", beta: 0.3, desirable_weight: 1.2, undesirable_weight: 0.8 },
    loss: ktoLoss({ beta: 0.3, desirableWeight: 1.2, undesirableWeight: 0.8 }),
  },
};

interface Answer {
  readonly loss: number;
  readonly logprobs: number[][];
  readonly entropies: number[][] | null;
}

describe.runIf(python)("losses against TRL", () => {
  let answers: Answer[];

  beforeAll(() => {
    const arrays = (pick: (row: LossRow) => ArrayLike<number>) => rows.map((row) => Array.from(pick(row)));
    const request = {
      cases: Object.values(cases).map(({ trl }) => trl),
      rows: {
        logprobs: arrays((row) => row.logprobs_T),
        mask: arrays((row) => row.mask_T),
        old: arrays((row) => row.oldLogprobs_T),
        behaviour: arrays((row) => row.behaviourLogprobs_T),
        reference: arrays((row) => row.referenceLogprobs_T!),
        entropies: arrays((row) => row.entropies_T!),
        advantages: arrays((row) => row.advantages_T),
        chosen: rows.map((row) => row.preference!.chosen),
      },
    };
    const script = fileURLToPath(new URL("./parity/trl_loss.py", import.meta.url));
    const run = spawnSync(python!, [script], { encoding: "utf8", input: JSON.stringify(request) });
    if (run.status !== 0) throw new Error(`trl_loss.py ended with ${run.status}:\n${run.stderr}`);
    answers = JSON.parse(run.stdout);
  });

  test.each(Object.keys(cases))("%s: the same value and gradients", (name) => {
    const { loss } = cases[name];
    const expected = answers[Object.keys(cases).indexOf(name)];
    const given = loss.compute(rows, totalsOf(rows));
    // or clipping would not have been compared
    expect(given.metrics["policy/clip-high"] ?? 1).toBeGreaterThan(0);
    expect(Math.abs(given.loss - expected.loss)).toBeLessThan(tolerance);
    expectClose(given.derivatives.logprobs_B_T, expected.logprobs);
    if (given.derivatives.entropies_B_T) expectClose(given.derivatives.entropies_B_T, expected.entropies!);
  });
});

function expectClose(given_B_T: readonly Float32Array[], expected_B_T: number[][]): void {
  const largest = Math.max(...expected_B_T.flat().map(Math.abs));
  expect(largest).toBeGreaterThan(0);
  for (const [b, expected_T] of expected_B_T.entries()) {
    for (const [t, expected] of expected_T.entries()) {
      expect(Math.abs(given_B_T[b][t] - expected), `row ${b}, token ${t}`).toBeLessThan(tolerance * largest);
    }
  }
}
