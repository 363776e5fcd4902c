import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, afterEach, describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { embedded } from "../embedded/embedded.ts";
import type { Engine } from "../engine.ts";
import { tiny } from "../model/model-config.ts";
import { torch } from "./torch.ts";
import { vllm } from "./vllm.ts";

// scripts/setup-vllm.sh <folder>; LUDUS_VLLM_PYTHON=<folder>/bin/python LUDUS_PYTHON=… npm run test:slow -- vllm
const python = process.env.LUDUS_VLLM_PYTHON;
const tolerance = 1e-4;
const startMs = 300_000;

const tokenizer = byteTokenizer();
const model = tiny({
  vocabularySize: tokenizer.vocabularySize,
  headWidth: 32,
  contextLength: 128,
  initializerRange: 0.1,
});
const onPython = { tokenizer, seed: 5, device: "cpu", threads: 1, log: () => {} };
const rows = ["the quick brown fox", "0123456789 0123456789", "a"].map((text) => ({
  tokens: [...tokenizer.encode(`<|im_start|>${text}<|im_end|>`, { special: true })],
}));

const folder = mkdtempSync(join(tmpdir(), "ludus-vllm-"));
let server: ChildProcess | undefined;
afterEach(async () => {
  if (server === undefined || server.exitCode !== null) return;
  const ended = once(server, "exit");
  server.kill("SIGTERM");
  await ended;
});
afterAll(() => rmSync(folder, { recursive: true }));

async function train(engine: Engine): Promise<void> {
  const forward = await engine.forward({ rows });
  const logprobs_B_T = forward.logprobs_B_T.map((row) => Float32Array.from(row, (_, t) => (t === 0 ? 0 : -1)));
  await engine.backward(forward, { logprobs_B_T });
  await engine.step({ learningRate: 3e-3 });
}

async function freePort(): Promise<number> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as { port: number };
  await new Promise((done) => listener.close(done));
  return port;
}

/** vLLM's server of OpenAI's protocol, ready for requests. */
async function serve(directory: string, ...args: readonly string[]): Promise<string> {
  const port = await freePort();
  const options = ["--model", directory, "--served-model-name", "base", "--host", "127.0.0.1", "--port", String(port)];
  const exact = ["--dtype", "float32", "--max-model-len", "128", "--enforce-eager", "--no-enable-prefix-caching"];
  const env = { ...process.env, VLLM_CPU_KVCACHE_SPACE: "1", VLLM_ALLOW_RUNTIME_LORA_UPDATING: "True" };
  const started = spawn(python!, ["-m", "vllm.entrypoints.openai.api_server", ...options, ...exact, ...args], {
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  server = started;
  let output = "";
  for (const stream of [started.stdout, started.stderr]) stream.on("data", (text) => (output += text));
  const url = `http://127.0.0.1:${port}`;
  for (let waited = 0; waited < startMs; waited += 1000) {
    const isUp = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return url;
    if (started.exitCode !== null) break;
    await wait(1000);
  }
  throw new Error(`vLLM did not start:\n${output.slice(-4000)}`);
}

/** What vLLM says of each token of a row after those before it. */
async function logprobsOf(url: string, name: string, tokens: readonly number[]): Promise<number[]> {
  const body = JSON.stringify({ model: name, prompt: tokens, max_tokens: 1, prompt_logprobs: 0 });
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/v1/completions`, { method: "POST", headers, body });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  const { prompt_logprobs: found } = JSON.parse(text).choices[0];
  return tokens.map((token, t) => (t === 0 ? 0 : found[t][token].logprob));
}

/** The largest difference between vLLM's log-probabilities and the engine's. */
async function difference(url: string, name: string, engine: Engine): Promise<number> {
  const { logprobs_B_T } = await engine.forward({ rows });
  let most = 0;
  for (const [b, { tokens }] of rows.entries()) {
    const theirs = await logprobsOf(url, name, tokens);
    for (const [t, logprob] of theirs.entries()) most = Math.max(most, Math.abs(logprob - logprobs_B_T[b][t]));
  }
  console.log(`${engine.info.name}, ${name}: vLLM differs by ${most.toExponential(1)} at most`);
  return most;
}

describe.runIf(python !== undefined && process.env.LUDUS_PYTHON !== undefined)("vLLM", () => {
  test("gives the log-probabilities of an embedded checkpoint and of an adapter on it", async () => {
    const [base, adapter] = [join(folder, "embedded"), join(folder, "adapter")];
    const engine = await embedded({ model, tokenizer, valueHead: true, seed: 5 });
    await engine.snapshot("reference");
    for (let step = 0; step < 4; step++) await train(engine);
    await engine.save(base);
    const learner = await torch({ ...onPython, folder: base, lora: { rank: 8 }, valueHead: true });
    for (let step = 0; step < 3; step++) await train(learner);
    await learner.save(adapter);
    const lora = ["--enable-lora", "--max-lora-rank", "8", "--lora-modules", `adapter=${adapter}`];
    const url = await serve(base, ...lora, "--logprobs-mode", "processed_logprobs");
    expect(await difference(url, "base", engine)).toBeLessThan(tolerance);
    expect(await difference(url, "adapter", learner)).toBeLessThan(tolerance);

    const sampler = vllm({ url, processedLogprobs: true, name: "live" });
    const live = await torch({ ...onPython, folder: base, lora: { rank: 8 }, sampler });
    for (const temperature of [1, 0.7]) {
      await train(live);
      const prompt = rows[0].tokens;
      const sample = await live.sample({ tokens: prompt, maxTokens: 24, seed: 9, temperature });
      const tokens = [...prompt, ...sample.tokens];
      const { logprobs_B_T } = await live.forward({ rows: [{ tokens }] }, { temperature });
      const gaps = Array.from(sample.logprobs, (logprob, i) => Math.abs(logprob - logprobs_B_T[0][prompt.length + i]));
      console.log(`sampled at temperature ${temperature}: differs by ${Math.max(...gaps).toExponential(1)} at most`);
      expect(Math.max(...gaps)).toBeLessThan(tolerance);
    }
    await Promise.all([engine.close(), learner.close(), live.close()]);
  });

  test("gives the log-probabilities of a PyTorch checkpoint", async () => {
    const directory = join(folder, "torch");
    const engine = await torch({ ...onPython, model, valueHead: true });
    await engine.snapshot("reference");
    for (let step = 0; step < 4; step++) await train(engine);
    await engine.save(directory);
    expect(await difference(await serve(directory), "base", engine)).toBeLessThan(tolerance);
    await engine.close();
  });
});
