import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { makeModelFolder, startServe } from "../testing/start-serve.ts";
import { serve } from "./serve.ts";

const silent = { write: () => true };

test("serves a model's folder to OpenAI's client until it is interrupted", async () => {
  const folder = await makeModelFolder();
  const { client, notes, stop } = await startServe([folder, "--renderer", "compact", "--name", "mine"]);
  expect(notes.join("")).toMatch(/^mine: embedded on cpu, \d+ threads?; 0\.3M parameters, context 256\n$/);
  const ask = { model: "mine", messages: [{ role: "user" as const, content: "hello" }], seed: 3, max_tokens: 24 };
  const { choices, usage } = await client.chat.completions.create({ ...ask, logprobs: true });
  expect(usage!.prompt_tokens).toBe(6);
  expect(choices[0].logprobs!.content!.length).toBeGreaterThan(0);
  let streamed = "";
  for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) {
    streamed += chunk.choices[0]?.delta.content ?? "";
  }
  expect(streamed).toBe(choices[0].message.content);
  expect(await stop()).toBe(130);
  await rm(folder, { recursive: true });
});

test("what it cannot serve is said", async () => {
  const terminal = { stdout: silent, stderr: silent };
  await expect(serve.run([], terminal)).rejects.toMatchObject({ code: "bad-usage" });
  await expect(serve.run([tmpdir()], terminal)).rejects.toMatchObject({ code: "no-checkpoint" });
});
