import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Episode } from "../env/episode.ts";
import { trainedConversations, trainedFormats, trainedRenderers } from "../policy/testing/trained-conversations.ts";
import type { Message, ToolCall } from "../schema/message.ts";
import { openRun } from "../store/index.ts";
import { env } from "./fixtures/rooms-config.ts";
import { runCommand } from "./testing/run-command.ts";
import { startServe } from "./testing/start-serve.ts";
import { trainedRun } from "./testing/trained-run.ts";

// What an agent does through transformers' chat template and through `ludus serve`, against `ludus eval`.

const script = fileURLToPath(new URL("../../test/parity/play.py", import.meta.url));
const configFile = fileURLToPath(new URL("./fixtures/rooms-config.ts", import.meta.url));
const count = 100;

function python(...args: readonly string[]) {
  const options = { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] } as const;
  return JSON.parse(
    execFileSync(process.env.LUDUS_PYTHON!, [script, ...args], { ...options, stdio: [...options.stdio] }),
  );
}

describe.runIf(process.env.LUDUS_PYTHON)("a trained agent elsewhere", () => {
  let folder: string;
  let successes: number;
  const at = (name: string) => join(folder, name);
  const tasks = () => Promise.all(Array.from({ length: count }, (_, i) => env.tasks.at("test", i)));

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "ludus-served-"));
    await trainedRun(configFile, at("run"));
    const exported = await runCommand(["export", at("run"), "--format", "huggingface", "--out", at("model")]);
    expect(exported.stderr).not.toMatch(/error/);
    const { stdout } = await runCommand([
      "eval",
      at("run"),
      "--file",
      configFile,
      "--temperature",
      "0",
      "--tasks",
      String(count),
      "--json",
      "--quiet",
    ]);
    successes = Math.round(JSON.parse(stdout).success.mean * count);
    console.log(`ludus eval, greedy: ${successes} of ${count}`);
    // an agent that fails, or cannot fail, would show nothing
    expect(successes).toBeGreaterThan(count / 2);
    expect(successes).toBeLessThan(count);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("does as well in transformers, with prompts of the same tokens", { timeout: 900_000 }, async () => {
    const all = await tasks();
    const openings = await Promise.all(all.map((task) => env.opening!(task)));
    const job = {
      tools: openings[0].tools.map((tool) => ({ type: "function", function: tool })),
      tasks: all.map(({ data }, i) => ({ ...data, messages: openings[i].messages })),
      ...{ turns: env.limits.turns, turnTokens: env.limits.turnTokens },
    };
    writeFileSync(at("job.json"), JSON.stringify(job));
    const { answers, prompts } = python("play", at("model"), at("job.json"));
    const right = all.filter(({ data }, i) => answers[i] === data.room).length;
    console.log(`transformers: ${right} of ${count}`);
    expect(right).toBe(successes);
    const run = await openRun(at("run"), { readOnly: true });
    const { trajectories } = await run.trajectories({}, { limit: 1 });
    const { trajectory, task } = await run.trajectory(trajectories[0].key);
    await run.close();
    // the prompt that a rollout of training had for the same words
    const same = all.findIndex(({ data }) => data.item === (task.data as typeof data).item);
    expect(prompts[same][0]).toEqual([...trajectory.tokens_T.subarray(0, trajectory.turns[0].span.start)]);
  });

  async function answered(client: OpenAI, model: string, task: Awaited<ReturnType<typeof tasks>>[number]) {
    const { signal } = new AbortController();
    const episode = new Episode(env, task, { signal });
    const messages: OpenAI.ChatCompletionMessageParam[] = [];
    const tools = episode.tools.map((tool) => ({ type: "function" as const, function: { ...tool } }));
    let next = await episode.start();
    let calls: readonly { readonly id: string }[] = [];
    while ("role" in next) {
      messages.push(...next.messages.map((message, i) => asked(message, calls[i]?.id)));
      const maxTokens = env.limits.turnTokens;
      const { choices } = await client.chat.completions.create({
        model,
        messages,
        tools,
        temperature: 0,
        max_tokens: maxTokens,
      });
      const { message } = choices[0];
      messages.push(message);
      const made = (message.tool_calls ?? []).flatMap((call): (ToolCall & { id: string })[] =>
        call.type === "function"
          ? [{ id: call.id, name: call.function.name, arguments: JSON.parse(call.function.arguments) }]
          : [],
      );
      calls = made;
      const wish =
        made.length > 0 ? { calls: made.map(({ id: _id, ...call }) => call) } : { answer: message.content ?? "" };
      next = await episode.step(env.format.write(wish, episode.tools));
    }
    const { scores } = await episode.finish(next);
    return scores.agent.success;
  }

  function asked({ role, content }: Message, toolCallId = ""): OpenAI.ChatCompletionMessageParam {
    return role === "tool" ? { role, content, tool_call_id: toolCallId } : { role: role as "user", content };
  }

  test.each(["run", "model"])("does as well through ludus serve of the %s", async (name) => {
    const { client, stop } = await startServe([at(name), "--name", "agent"]);
    const done = await Promise.all((await tasks()).map((task) => answered(client, "agent", task)));
    await stop();
    const right = done.filter(Boolean).length;
    console.log(`ludus serve, ${name}: ${right} of ${count}`);
    expect(right).toBe(successes);
  });

  test("every renderer's template for every format makes the tokens of training in transformers", () => {
    const cases = trainedRenderers.flatMap(([name, renderer, tokenizer]) => {
      const directory = at(name);
      mkdirSync(directory, { recursive: true });
      for (const [file, content] of Object.entries(tokenizer.files())) writeFileSync(join(directory, file), content);
      return trainedFormats
        .filter((format) => name !== "chat without tool turns" || format.describe([]) !== "" || format.name === "plain")
        .map((format) => ({
          tokenizer: name,
          format: format.name,
          template: renderer.chatTemplate!(format),
          conversations: trainedConversations(renderer, format, 20),
        }));
    });
    writeFileSync(at("templates.json"), JSON.stringify(cases));
    const found: number[][][] = python("templates", folder, at("templates.json"));
    for (const [i, { tokenizer, format, conversations }] of cases.entries()) {
      for (const [c, { tokens }] of conversations.entries())
        expect(found[i][c], `${tokenizer}, ${format}, conversation ${c}`).toEqual([...tokens]);
    }
  });
});
