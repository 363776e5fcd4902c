import { EventEmitter } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { embedded } from "../../engine/embedded/embedded.ts";
import { tiny } from "../../engine/embedded/model-config.ts";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { serve } from "./serve.ts";

const silent = { write: () => true };

test("serves a model's folder to OpenAI's client until it is interrupted", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ludus-serve-"));
  const tokenizer = byteTokenizer();
  const { vocabularySize } = tokenizer;
  const engine = await embedded({ model: tiny({ vocabularySize, contextLength: 256 }), tokenizer, threads: 1 });
  await engine.save(join(folder, "model"));
  await engine.close();
  const signals = new EventEmitter();
  const { promise: printed, resolve } = Promise.withResolvers<string>();
  const terminal = {
    stdout: { write: resolve },
    stderr: silent,
    on: signals.on.bind(signals),
    off: signals.off.bind(signals),
  };
  const ended = serve.run([join(folder, "model"), "--renderer", "compact", "--name", "mine"], terminal);
  const client = new OpenAI({ baseURL: (await printed).trim(), apiKey: "none", maxRetries: 0 });
  const ask = { model: "mine", messages: [{ role: "user" as const, content: "hello" }], seed: 3, max_tokens: 24 };
  const { choices, usage } = await client.chat.completions.create({ ...ask, logprobs: true });
  expect(usage!.prompt_tokens).toBe(6);
  expect(choices[0]!.logprobs!.content!.length).toBeGreaterThan(0);
  let streamed = "";
  for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) {
    streamed += chunk.choices[0]?.delta.content ?? "";
  }
  expect(streamed).toBe(choices[0]!.message.content);
  signals.emit("SIGINT");
  expect(await ended).toBe(130);
  await rm(folder, { recursive: true });
});

test("what it cannot serve is said", async () => {
  const terminal = { stdout: silent, stderr: silent };
  await expect(serve.run([], terminal)).rejects.toMatchObject({ code: "bad-usage" });
  await expect(serve.run([tmpdir()], terminal)).rejects.toMatchObject({ code: "no-checkpoint" });
});
