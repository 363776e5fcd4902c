import type { Engine, Sample, TokenRow } from "../../src/engine/engine.ts";
import { LudusError } from "../../src/errors.ts";
import { loadTokenizer } from "../../src/policy/load-tokenizer.ts";
import type { Tokenizer } from "../../src/policy/tokenizer.ts";
import type { WorkloadOf } from "../child/protocol.ts";
import { openEngine, type Prepared, time } from "./prepared.ts";

/** Sample a group for every prompt, score, update once: all of it is timed. */
export async function prepareGrpoStep(workload: WorkloadOf<"grpo-step">, threads: number): Promise<Prepared> {
  if (!("folder" in workload.model))
    throw new LudusError("no-tokenizer", { got: "a model without a folder", expected: "a folder with a tokenizer" });
  const engine = await openEngine(workload.model, threads);
  const tokenizer = await loadTokenizer(workload.model.folder);
  let seed = 0;
  return {
    async run() {
      let tokens = 0;
      const seconds = await time(async () => {
        tokens = await grpoStep(engine, tokenizer, workload, seed);
      });
      seed += workload.prompts.length * workload.groupSize;
      return { seconds, tokens };
    },
    close: () => engine.close(),
  };
}

/** Returns how many tokens were sampled. */
async function grpoStep(
  engine: Engine,
  tokenizer: Tokenizer,
  { prompts, groupSize, maxTokens, learningRate, maxGradientNorm }: WorkloadOf<"grpo-step">,
  firstSeed: number,
): Promise<number> {
  const { policyVersion } = engine.info;
  const stopTokens = [tokenizer.specialTokens.eos!.id];
  const prompts_B = prompts.flatMap((prompt) => Array.from({ length: groupSize }, () => tokenizer.encode(prompt)));
  const samples_B = await Promise.all(
    prompts_B.map((tokens, b) => engine.sample({ tokens, maxTokens, seed: firstSeed + b, stopTokens })),
  );

  const rewards_B = samples_B.map((sample) => new Set(tokenizer.decode(sample.tokens)).size);
  const advantages_B = prompts.flatMap((_, p) => groupAdvantages(rewards_B.slice(p * groupSize, (p + 1) * groupSize)));

  const total = samples_B.reduce((sum, sample) => sum + sample.tokens.length, 0);
  const rows = samples_B.map((sample, b) => trainingRow(prompts_B[b], sample));
  const logprobs_B_T = samples_B.map((sample, b) => afterPrompt(prompts_B[b], sample.logprobs));
  const derivatives_B_T = samples_B.map((sample, b) =>
    afterPrompt(prompts_B[b], new Float32Array(sample.tokens.length).fill(-advantages_B[b] / total)),
  );
  const forward = await engine.forward({ rows }, { sampled: { logprobs_B_T, policyVersion } });
  await engine.backward(forward, { logprobs_B_T: derivatives_B_T });
  await engine.step({ learningRate, maxGradientNorm });
  return total;
}

/** A reward's distance from its group's mean, in standard deviations. */
function groupAdvantages(rewards_G: readonly number[]): number[] {
  const mean = rewards_G.reduce((a, b) => a + b, 0) / rewards_G.length;
  const squares = rewards_G.reduce((sum, reward) => sum + (reward - mean) ** 2, 0);
  const deviation = Math.sqrt(squares / (rewards_G.length - 1));
  return rewards_G.map((reward) => (reward - mean) / (deviation + 1e-4));
}

function trainingRow(prompt: Int32Array, { tokens }: Sample): TokenRow {
  const row = new Int32Array(prompt.length + tokens.length);
  row.set(prompt);
  row.set(tokens, prompt.length);
  return { tokens: row, mask: new Uint8Array(row.length).fill(1, prompt.length) };
}

function afterPrompt(prompt: Int32Array, numbers: Float32Array): Float32Array {
  const row = new Float32Array(prompt.length + numbers.length);
  row.set(numbers, prompt.length);
  return row;
}
