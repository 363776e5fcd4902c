import { AsyncLocalStorage } from "node:async_hooks";
import OpenAI from "openai";
import { expect, test } from "vitest";
import { type FakeEngine, fakeEngine } from "../engine/fake-engine.ts";
import { evaluate } from "../eval/evaluate.ts";
import { byteTokenizer, compactRenderer, formats } from "../policy/index.ts";
import type { Policy } from "../rollout/rollout.ts";
import { runGroup } from "../rollout/run-group.ts";
import { demonstrate, runRollout } from "../rollout/run-rollout.ts";
import { worldContract } from "../rollout/world.contract.ts";
import type { World } from "../rollout/world.ts";
import { generated } from "../task/generated.ts";
import { fromScratch } from "../train/from-scratch.ts";
import { grpo } from "../train/presets/grpo.ts";
import { train } from "../train/train-sync.ts";
import { imitate } from "../train/warm-start.ts";
import type { AgentAttempt } from "./agent-attempt.ts";
import { type AgentDefinition, agentEnv } from "./agent-env.ts";
import { scriptedModel } from "./testing/scripted-model.ts";

/** Runs where no attempt captures `fetch`, as another process would. */
const outside = AsyncLocalStorage.snapshot();

const tool = {
  type: "function" as const,
  function: { name: "look", parameters: { type: "object", properties: { name: { type: "string" } } } },
};

/** Asks a model until it answers; its one tool turns letters into others. */
async function agent(word: string, baseURL: string): Promise<string> {
  const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: `${word}?` }];
  for (;;) {
    // a temperature of its own, which training must not follow
    const options = { model: "clerk", messages, tools: [tool], temperature: 0.1 };
    const { message } = (await client.chat.completions.create(options)).choices[0];
    if (message.tool_calls === undefined) return message.content ?? "";
    messages.push(message);
    for (const { id } of message.tool_calls) messages.push({ role: "tool", tool_call_id: id, content: secretOf(word) });
  }
}

const secretOf = (word: string) => [...word].map((letter) => String.fromCharCode(letter.charCodeAt(0) + 1)).join("");
const definition: AgentDefinition<string> = {
  name: "letters",
  tasks: generated((rng) => String.fromCharCode(97 + rng.integer(20)).repeat(2)),
  model: "clerk",
  format: formats.compact(),
  limits: { turns: 4, turnTokens: 12 },
  run: async (word, { url }) => ((await agent(word, url)) === secretOf(word) ? 1 : 0),
  expert({ task, messages }) {
    const told = messages.find(({ role }) => role === "tool")?.content;
    return told === undefined ? { calls: [{ name: "look", arguments: { name: task } }] } : { answer: told };
  },
  actions: () => ["=zz", { answer: "yy" }],
};

const rightScript = (read: string) => {
  const lines = read.split(/<\|im_(?:start|end)\|>/);
  return lines.length === 1 ? `look ${read.slice(0, 2)}` : `=${lines.at(-1)}`;
};
const policyOf = (script: (read: string) => string): Policy & { engine: FakeEngine } => scriptedModel(script);
const options = { id: "step-1/0/1", seed: 3, temperature: 0 };
const task = { id: "t", seed: 0, data: "ab", domain: "d" };

test("an attempt of an agent is a rollout: its calls, its tokens, its score", async () => {
  const env = agentEnv(definition);
  const policy = policyOf(rightScript);
  const rollout = await runRollout(env, task, policy, options);
  expect(rollout).toMatchObject({ id: options.id, stop: "completed", task });
  const [trajectory, ...others] = rollout.trajectories;
  expect(others).toEqual([]);
  expect(trajectory).toMatchObject({ rollout: options.id, taskId: "t", domain: "d", temperature: 0, weight: 1 });
  expect(trajectory.score).toEqual({ total: 1, parts: { outcome: 1 }, success: true });
  expect(trajectory.turns.map(({ text }) => text)).toEqual(["look ab", "=bc"]);
  const decoded = byteTokenizer().decode(trajectory.tokens_T, { special: true });
  expect(decoded).toBe("ab?<|im_start|>look ab<|im_end|>bc<|im_start|>=bc<|im_end|>");
  expect(rollout.timing.sampleMs).toBeGreaterThan(0);
});

test("sampling is the run's: temperature, top-k, seeds that can be had again, and no more tokens than a turn may have", async () => {
  const env = agentEnv(definition);
  const seeds = async (seed: number) => {
    const policy = policyOf(rightScript);
    await runRollout(env, task, policy, { ...options, seed, temperature: 0.7, topK: 1 });
    expect(policy.engine.samples[0]).toMatchObject({ temperature: 0.7, topK: 1, maxTokens: 12 });
    return policy.engine.samples.map((sample) => sample.seed);
  };
  const first = await seeds(3);
  expect(new Set(first).size).toBeGreaterThan(1);
  expect(await seeds(3)).toEqual(first);
  expect(await seeds(4)).not.toEqual(first);
});

test("groups and evaluations take it as any environment; a hundred attempts at once are not mixed up", async () => {
  const env = agentEnv(definition);
  const { rollouts } = await runGroup(env, task, policyOf(rightScript), { id: "g", seed: 0, size: 4, temperature: 0 });
  expect(rollouts.map(({ id, stop }) => [id, stop])).toEqual([0, 1, 2, 3].map((i) => [`g/${i}`, "completed"]));
  const report = await evaluate(env, policyOf(rightScript), { tasks: 100, temperature: 0 });
  expect(report.success.mean).toBe(1);
  expect(report.turns).toBe(2);
});

test("an agent that asks for more than its limits has failed, and that is the policy's doing", async () => {
  const env = agentEnv(definition);
  const endless = await runRollout(
    env,
    task,
    policyOf(() => "look a"),
    options,
  );
  expect(endless).toMatchObject({ stop: "max-turns" });
  expect(endless.trajectories[0]).toMatchObject({ stop: "max-turns", score: { total: 0, success: false } });
  expect(endless.trajectories[0].turns).toHaveLength(4);
  const spent = await runRollout(
    env,
    task,
    policyOf(() => "look a"),
    { ...options, limits: { tokens: 7 } },
  );
  expect(spent.stop).toBe("max-tokens");
  const long = agentEnv({ ...definition, run: async (word, { url }) => void (await agent(word.repeat(3000), url)) });
  expect((await runRollout(long, task, policyOf(rightScript), options)).stop).toBe("context-full");
  const full = { ...scriptedModel(() => "look a", { contextLength: 24 }) };
  expect((await runRollout(env, task, full, options)).stop).toBe("context-full");
});

test("what goes wrong elsewhere is an infrastructure failure, and says what it was", async () => {
  const broken = agentEnv({ ...definition, run: () => Promise.reject(new Error("the tool is down")) });
  const policy = policyOf(rightScript);
  expect(await runRollout(broken, task, policy, options)).toMatchObject({
    stop: "env-crash",
    failure: expect.stringContaining("the tool is down"),
    trajectories: [],
  });
  const silent = await runRollout(agentEnv({ ...definition, run: async () => 1 }), task, policy, options);
  expect(silent).toMatchObject({ stop: "env-crash", failure: expect.stringContaining("asked no model") });
  const odd = agentEnv({ ...definition, run: async (word, { url }) => (await agent(word, url)).length / 0 - 1 / 0 });
  expect((await runRollout(odd, task, policy, options)).failure).toContain("not a finite number");
  const failing = scriptedModel(rightScript, { beforeSample: () => Promise.reject(new Error("no memory")) });
  expect(await runRollout(agentEnv(definition), task, failing, options)).toMatchObject({
    stop: "engine-error",
    failure: expect.stringContaining("no memory"),
  });
});

test("time and an abort end an attempt, whether the agent listens or not", async () => {
  const deaf = agentEnv({ ...definition, limits: { episodeMs: 20 }, run: () => new Promise<never>(() => {}) });
  expect((await runRollout(deaf, task, policyOf(rightScript), options)).stop).toBe("episode-timeout");
  const controller = new AbortController();
  const waiting = agentEnv({ ...definition, run: () => new Promise<never>(() => controller.abort()) });
  const { signal } = controller;
  expect((await runRollout(waiting, task, policyOf(rightScript), { ...options, signal })).stop).toBe("cancelled");
});

test("its expert's words are demonstrations, with noise where it is wanted", async () => {
  const env = agentEnv(definition);
  const renderContext = policyOf(rightScript);
  const { trajectories } = await demonstrate(env, task, renderContext, options);
  expect(trajectories[0].turns.map(({ text }) => text)).toEqual(["look ab", "=bc"]);
  expect(trajectories[0].score.success).toBe(true);
  expect(renderContext.engine.samples).toEqual([]);
  const noisy = await demonstrate(env, task, renderContext, { ...options, noise: 1 });
  expect(["=zz", "=yy"]).toContain(noisy.trajectories[0].turns[0].text);
  const { expert: _expert, ...without } = definition;
  await expect(demonstrate(agentEnv(without), task, renderContext, options)).rejects.toThrow("no expert");
});

test("what means nothing to an agent is refused, not ignored", async () => {
  const env = agentEnv(definition);
  const { renderer, engine } = policyOf(rightScript);
  await expect(runRollout(env, task, { renderer, engine }, options)).rejects.toMatchObject({ code: "no-tokenizer" });
  const explored = runRollout(env, task, policyOf(rightScript), { ...options, epsilonTool: 0.5 });
  await expect(explored).rejects.toMatchObject({ code: "bad-config" });
});

test("over HTTP each attempt has an address, and a reward that is posted ends it", async () => {
  const seen: AgentAttempt[] = [];
  const env = agentEnv({
    ...definition,
    serve: {},
    run(word, attempt) {
      seen.push(attempt);
      // another process would do this: nothing of it is in the attempt's own scope
      setImmediate(async () => {
        const said = await agent(word, attempt.url);
        const body = JSON.stringify({ reward: { outcome: said === secretOf(word) ? 1 : 0, speed: 0.5 } });
        await fetch(attempt.rewardUrl, { method: "POST", headers: { "content-type": "application/json" }, body });
      });
      return undefined;
    },
  });
  const { rollouts } = await runGroup(env, task, policyOf(rightScript), {
    id: "step-2/7",
    seed: 0,
    size: 8,
    temperature: 0,
  });
  expect(new Set(seen.map(({ url }) => url)).size).toBe(8);
  expect(seen[0].url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/rollouts\/[\w-]{32}\/v1$/);
  for (const { trajectories, stop } of rollouts) {
    expect(stop).toBe("completed");
    expect(trajectories[0].score).toEqual({ total: 1.5, parts: { outcome: 1, speed: 0.5 }, success: true });
    expect(trajectories[0].turns.map(({ text }) => text)).toEqual(["look ab", "=bc"]);
  }
  const late = await fetch(`${seen[0].url}/models`);
  expect(late.status).toBe(404);
  expect(await late.json()).toMatchObject({ error: { code: "rollout_not_found" } });
});

test("neither the name of an attempt nor the address of its model lets anybody post its reward", async () => {
  const statuses: Record<string, number> = {};
  const json = { method: "POST", headers: { "content-type": "application/json" } };
  const reward = (url: string, value: number) => fetch(url, { ...json, body: JSON.stringify({ reward: value }) });
  const env = agentEnv({
    ...definition,
    serve: {},
    run(word, { id, url, rewardUrl }) {
      outside(async () => {
        await agent(word, url);
        const { origin } = new URL(url);
        const named = `${origin}/rollouts/${encodeURIComponent(id)}`;
        const token = url.split("/").at(-2);
        const header = { headers: { "x-ludus-rollout": id } };
        statuses.name = (await reward(`${named}/reward`, 100)).status;
        statuses.model = (await reward(`${origin}/rollouts/${token}/reward`, 100)).status;
        statuses.read = (await fetch(named)).status;
        statuses.list = (await fetch(`${origin}/rollouts`)).status;
        statuses.header = (await fetch(`${origin}/v1/models`, header)).status;
        statuses.modelOfReward = (await fetch(rewardUrl.replace(/reward$/, "v1/models"))).status;
        statuses.right = (await reward(rewardUrl, 0.25)).status;
        statuses.again = (await reward(rewardUrl, 100)).status;
      });
      return undefined;
    },
  });
  const { trajectories, stop } = await runRollout(env, task, policyOf(rightScript), options);
  expect({ stop, total: trajectories[0].score.total }).toEqual({ stop: "completed", total: 0.25 });
  await expect.poll(() => statuses.again).toBe(404);
  const { right, ...others } = statuses;
  expect(right).toBe(200);
  expect(new Set(Object.values(others))).toEqual(new Set([404]));
});

test("train takes it: warm start, groups, updates, evaluation", async () => {
  const tokenizer = byteTokenizer();
  const { vocabularySize } = tokenizer;
  const distribution = Array.from({ length: vocabularySize }, (_, id) =>
    id === tokenizer.specialTokens.eos!.id ? 3 : 0.01,
  );
  const engine = fakeEngine({ vocabularySize, distribution: distribution.with(61, 3) });
  const result = await train({
    env: agentEnv({ ...definition, run: async (word, { url }) => ((await agent(word, url)).length > 0 ? 1 : 0) }),
    policy: { engine, tokenizer, renderer: compactRenderer({ tokenizer }) },
    warmStart: imitate({ demonstrations: 8, steps: 2, batchSize: 4 }),
    algorithm: grpo({ groupSize: 4 }),
    steps: 2,
    tasksPerStep: 4,
    eval: { tasks: 5 },
  });
  expect(result).toMatchObject({ reason: "finished", steps: 4 });
  expect(result.metrics["imitate/expert-success"] ?? 1).toBe(1);
  expect(engine.backwards.length).toBeGreaterThan(2);
  expect(result.after!.tasks).toBe(5);
});

test("a policy from scratch needs an expert, and says so", async () => {
  const env = agentEnv({ name: "silent", tasks: generated(() => "a"), run: () => 1 });
  await expect(fromScratch({ size: "tiny" })(env, 0)).rejects.toThrow(
    /^no-demonstrations: got silent, an agent without an expert, .*`expert` in agentEnv.*\{ engine, renderer, tokenizer \}/,
  );
});

test("a policy from scratch knows its words and has room for its attempts", async () => {
  const env = agentEnv(definition);
  const { engine, tokenizer } = await fromScratch({ size: "tiny", tokenizer: 300, threads: 1 })(env, 0);
  expect(engine.info.contextLength).toBeGreaterThanOrEqual(64);
  expect(tokenizer!.encode("look ").length).toBeLessThan(5);
  await engine.close();
});

worldContract("an agent's world", () => ({
  world: agentEnv(definition) as World,
  policy: () => policyOf((read) => rightScript(read)),
}));

test("when an attempt is over the policy stops sampling for it, and answers it no more", async () => {
  const model = scriptedModel(() => "hello");
  const asked: AbortSignal[] = [];
  const sample: FakeEngine["sample"] = async (request, signal) => {
    if (asked.push(signal!) > 1) return model.engine.sample(request, signal);
    return new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
  };
  const engine = { ...model.engine, info: model.engine.info, sample, release: async () => {} } as unknown as FakeEngine;
  const late = Promise.withResolvers<string>();
  const ask = (url: string) =>
    fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "clerk", messages: [{ role: "user", content: "?" }] }),
    });
  const env = agentEnv<string>({
    ...definition,
    limits: { ...definition.limits, episodeMs: 200 },
    // an agent that knows nothing of signals, and tries again
    run: async (_, { url }) => {
      await ask(url);
      late.resolve(await (await ask(url)).text());
      return 1;
    },
  });
  const task = { id: "t", seed: 0, data: "aa" };
  const { stop } = await runRollout(env, task, { ...model, engine }, { id: "a", seed: 1 });
  expect(stop).toBe("episode-timeout");
  expect(asked[0].aborted).toBe(true);
  expect(await late.promise).toMatch(/attempt-over: got a call after the attempt has ended/);
  expect(asked).toHaveLength(1);
});

test("several answers to one call share the tokens that are left", async () => {
  const model = scriptedModel(() => "a".repeat(50));
  const env = agentEnv<string>({
    ...definition,
    limits: { turns: 4, turnTokens: 100, tokens: 30 },
    run: async (_, { url }) => {
      const client = new OpenAI({ baseURL: url, apiKey: "none", maxRetries: 0 });
      const messages = [{ role: "user" as const, content: "?" }];
      await client.chat.completions.create({ model: "clerk", messages, n: 5 });
      return 1;
    },
  });
  const { trajectories } = await runRollout(env, { id: "t", seed: 0, data: "aa" }, model, { id: "a", seed: 1 });
  const sampled = trajectories.flatMap(({ mask_T }) => [...mask_T]).reduce((sum, mask) => sum + mask, 0);
  expect(trajectories).toHaveLength(5);
  expect(sampled).toBe(30);
});
