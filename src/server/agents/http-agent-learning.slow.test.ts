import { expect, test } from "vitest";
import { byteTokenizer, compactRenderer, embedded, formats, generated, grpo, models, train } from "../../index.ts";
import { agentEnv } from "../agent-env.ts";
import { httpAgent } from "./http-agent.ts";
import type { ModelAccess } from "./model-access.ts";
import { agentServer, sendJson } from "./testing/agent-server.ts";

test("an agent behind an endpoint learns: it names vowels", { timeout: 300_000 }, async () => {
  const server = await agentServer(async (body, response) => {
    const { task, baseUrl, apiKey, model } = JSON.parse(body) as ModelAccess & { task: string };
    const answer = await fetch(`${baseUrl}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ model, messages: [{ role: "user", content: task }] }),
    });
    const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] };
    sendJson(response, { answer: choices[0].message.content });
  });
  const ask = httpAgent({ url: server.url });
  const env = agentEnv({
    name: "vowels",
    tasks: generated(() => "Name a vowel."),
    format: formats.plain(),
    limits: { turnTokens: 8 },
    concurrency: 32,
    serve: {},
    run: async (question, attempt) => (/[aeiou]/.test(await ask(question, attempt)) ? 1 : 0),
  });
  const tokenizer = byteTokenizer();
  const engine = await embedded({ model: models.tiny({ vocabularySize: tokenizer.vocabularySize }), tokenizer });
  const policy = { engine, tokenizer, renderer: compactRenderer({ tokenizer }) };
  const { before, after, seconds } = await train({
    env,
    policy,
    algorithm: grpo({ learningRate: 1e-3 }),
    steps: 14,
    eval: { tasks: 100 },
  });
  await engine.close();
  await server.close();
  console.log(`success ${before?.success.mean} → ${after?.success.mean} in ${seconds.toFixed(0)} s`);
  expect(after!.success.low).toBeGreaterThan(before!.success.high);
});
