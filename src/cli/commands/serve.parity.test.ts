import { rm } from "node:fs/promises";
import { expect, test } from "vitest";
import { makeModelFolder, startServe } from "../testing/start-serve.ts";

test("a folder says the same from the embedded engine and from PyTorch", async () => {
  const folder = await makeModelFolder();
  const answers: { content: string | null; logprobs: number[] }[] = [];
  for (const engine of ["embedded", "torch"]) {
    const { client, stop } = await startServe([folder, "--renderer", "compact", "--name", "mine", "--engine", engine]);
    const { choices } = await client.chat.completions.create({
      model: "mine",
      messages: [{ role: "user", content: "hello" }],
      temperature: 0,
      max_tokens: 16,
      logprobs: true,
    });
    const logprobs = choices[0].logprobs!.content!.map(({ logprob }) => logprob);
    answers.push({ content: choices[0].message.content, logprobs });
    expect(await stop()).toBe(130);
  }
  const [here, there] = answers;
  expect(there.content).toBe(here.content);
  expect(there.logprobs.length).toBeGreaterThan(0);
  there.logprobs.forEach((logprob, i) => expect(logprob).toBeCloseTo(here.logprobs[i], 3));
  await rm(folder, { recursive: true });
});
