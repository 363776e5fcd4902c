import { LudusError } from "../errors.ts";
import type {
  Derivatives,
  EngineInfo,
  Forward,
  ForwardOptions,
  OptimizerOptions,
  SampleRequest,
  TokenBatch,
  Tokens,
} from "./engine.ts";

// What every engine refuses before it computes anything, with the same errors.

function checkTokens(info: EngineInfo, tokens: Tokens, where: string): void {
  for (let t = 0; t < tokens.length; t++) {
    const token = tokens[t];
    if (Number.isInteger(token) && token >= 0 && token < info.vocabularySize) continue;
    throw new LudusError("token-out-of-range", {
      got: `token ${token} at position ${t} of ${where}`,
      expected: `a whole number from 0 to ${info.vocabularySize - 1}`,
      hint: "Was it made with another tokenizer?",
    });
  }
}

function checkRange(
  name: string,
  value: number | undefined,
  isGood: (value: number) => boolean,
  expected: string,
): void {
  if (value === undefined || isGood(value)) return;
  throw new LudusError("bad-option", { got: `${name} = ${value}`, expected });
}

function checkWeights(info: EngineInfo, name: string | undefined): void {
  if (name === undefined || info.weights.includes(name)) return;
  throw new LudusError("unknown-weights", {
    got: `weights "${name}"`,
    expected: `one of ${info.weights.join(", ")}`,
    hint: "Make them with engine.snapshot(name).",
  });
}

export function checkSampleRequest(info: EngineInfo, request: SampleRequest): void {
  checkWeights(info, request.weights);
  if (request.tokens.length === 0)
    throw new LudusError("empty-prompt", { got: "no tokens", expected: "at least one token to continue" });
  checkTokens(info, request.tokens, "the prompt");
  if (request.tokens.length >= info.contextLength) {
    throw new LudusError("prompt-too-long", {
      got: `${request.tokens.length} tokens`,
      expected: `fewer than the context of ${info.contextLength}`,
      hint: "Shorten the history (keep the last turns, stub old observations) or use a model with a longer context.",
    });
  }
  checkRange("maxTokens", request.maxTokens, (n) => Number.isInteger(n) && n >= 1, "a whole number of at least 1");
  checkRange("seed", request.seed, Number.isSafeInteger, "a whole number");
  checkRange("temperature", request.temperature, (n) => Number.isFinite(n) && n >= 0, "a number of at least 0");
  checkRange("topP", request.topP, (n) => n > 0 && n <= 1, "a number above 0 and at most 1");
  checkRange("topK", request.topK, (n) => Number.isInteger(n) && n >= 1, "a whole number of at least 1");
  checkRange(
    "alternatives",
    request.alternatives,
    (n) => Number.isInteger(n) && n >= 1 && n <= info.vocabularySize,
    `1 to ${info.vocabularySize}`,
  );
  if (request.stopStrings?.some((text) => text === "")) {
    throw new LudusError("bad-option", {
      got: "an empty stop string",
      expected: "stop strings with at least one character",
    });
  }
}

function mismatch(what: string, got: number, expected: number): LudusError {
  return new LudusError("length-mismatch", {
    got: `${what} of length ${got}`,
    expected: `${expected}`,
    hint: "Arrays of one row line up with its tokens.",
  });
}

export function checkTokenBatch(info: EngineInfo, batch: TokenBatch, options: ForwardOptions): void {
  checkWeights(info, options.weights);
  checkRange("temperature", options.temperature, (n) => Number.isFinite(n) && n > 0, "a number above 0");
  checkRange(
    "alternatives",
    options.alternatives,
    (n) => Number.isInteger(n) && n >= 1 && n <= info.vocabularySize,
    `1 to ${info.vocabularySize}`,
  );
  if (batch.rows.length === 0) throw new LudusError("empty-batch", { got: "no rows", expected: "at least one row" });
  batch.rows.forEach((row, b) => {
    const length = row.tokens.length;
    if (length < 2 || length > info.contextLength) {
      throw new LudusError(length < 2 ? "row-too-short" : "row-too-long", {
        got: `row ${b} with ${length} tokens`,
        expected: `2 to ${info.contextLength}, the context of the model`,
        hint:
          length < 2
            ? "A single token has nothing before it to be predicted from."
            : "Cut the row, or drop the rollout that made it.",
      });
    }
    checkTokens(info, row.tokens, `row ${b}`);
    if (row.mask !== undefined && row.mask.length !== length)
      throw mismatch(`the mask of row ${b}`, row.mask.length, length);
    if (row.candidates !== undefined && row.candidates.tokens.length !== length * row.candidates.count) {
      throw mismatch(`candidates of row ${b}`, row.candidates.tokens.length, length * row.candidates.count);
    }
    if (row.candidates !== undefined) checkTokens(info, row.candidates.tokens, `the candidates of row ${b}`);
    if (row.candidates?.count !== batch.rows[0].candidates?.count) {
      throw new LudusError("length-mismatch", {
        got: `${row.candidates?.count ?? 0} candidates in row ${b}`,
        expected: `${batch.rows[0].candidates?.count ?? 0}, as in row 0`,
      });
    }
  });
  checkSampled(info, batch, options);
}

function checkSampled(info: EngineInfo, batch: TokenBatch, options: ForwardOptions): void {
  const sampled = options.sampled;
  if (sampled === undefined) return;
  if (sampled.policyVersion !== info.policyVersion || (options.weights ?? "policy") !== "policy") {
    throw new LudusError("stale-logprobs", {
      got: `log-probabilities sampled with policy version ${sampled.policyVersion}`,
      expected: `the current version, ${info.policyVersion}, of the policy`,
      hint: "Leave `sampled` out: the forward pass computes them.",
    });
  }
  batch.rows.forEach((row, b) => {
    const length = sampled.logprobs_B_T[b]?.length ?? 0;
    if (length !== row.tokens.length)
      throw mismatch(`sampled log-probabilities of row ${b}`, length, row.tokens.length);
  });
}

export function checkDerivatives(batch: TokenBatch, forward: Forward, derivatives: Derivatives): void {
  const width = { candidates_B_T: batch.rows[0].candidates?.count ?? 0 } as Record<string, number>;
  for (const [name, rows] of Object.entries(derivatives) as [string, readonly Float32Array[] | undefined][]) {
    if (rows === undefined) continue;
    if (!(name in forward) || forward[name as keyof Forward] === undefined) {
      throw new LudusError("unknown-derivative", {
        got: `derivatives of ${name}`,
        expected: `derivatives of what the forward pass returned: ${Object.keys(forward)
          .filter((key) => key.endsWith("_B_T"))
          .join(", ")}`,
      });
    }
    if (rows.length !== batch.rows.length) throw mismatch(name, rows.length, batch.rows.length);
    rows.forEach((row, b) => {
      const expected = batch.rows[b].tokens.length * (width[name] ?? 1);
      if (row.length !== expected) throw mismatch(`${name} of row ${b}`, row.length, expected);
      const bad = row.findIndex((value) => !Number.isFinite(value));
      if (bad >= 0) {
        throw new LudusError("derivative-not-finite", {
          got: `${row[bad]} in ${name} at row ${b}, position ${bad}`,
          expected: "finite numbers",
          hint: "Look at the loss: a ratio overflowed, or a group without variance was divided by its deviation.",
        });
      }
    });
  }
}

export function noAdapter(engine: string): LudusError {
  return new LudusError("no-adapter", { got: `the full weights of ${engine}`, expected: "an engine made with `lora`" });
}

export function checkOptimizer(info: EngineInfo, options: OptimizerOptions): void {
  checkWeights(info, options.weights);
  checkRange("learningRate", options.learningRate, (n) => Number.isFinite(n) && n >= 0, "a number of at least 0");
  checkRange("weightDecay", options.weightDecay, (n) => Number.isFinite(n) && n >= 0, "a number of at least 0");
  for (const name of ["beta1", "beta2"] as const)
    checkRange(name, options[name], (n) => n >= 0 && n < 1, "at least 0 and below 1");
  checkRange("epsilon", options.epsilon, (n) => n > 0, "a number above 0");
  checkRange("maxGradientNorm", options.maxGradientNorm, (n) => n > 0, "a number above 0");
}
