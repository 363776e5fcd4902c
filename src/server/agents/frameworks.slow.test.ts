import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { runGroup } from "../../rollout/run-group.ts";
import { listed } from "../../task/listed.ts";
import { agentEnv } from "../agent-env.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { commandAgent } from "./command-agent.ts";

// scripts/setup-agents.sh <folder>; LUDUS_AGENTS=<folder> npm run test:slow -- frameworks

const folder = process.env.LUDUS_AGENTS;
if (folder === undefined) {
  console.log("Agent frameworks are not tried: LUDUS_AGENTS names no folder (scripts/setup-agents.sh)");
}
const home = mkdtempSync(join(tmpdir(), "ludus-frameworks-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** Calls the tool, whatever it is called there, and says what it was told. */
const modelFor = (tool: string) =>
  scriptedModel(
    (read) => {
      const told = /found-\d+/.exec(read)?.[0];
      const call = `<tool_call>\n{"name": "${tool}", "arguments": {"who": "user-7"}}\n</tool_call>`;
      return told === undefined ? call : `user-7 is ${told}`;
    },
    { contextLength: 100_000 },
  );

const frameworks = [
  { name: "OpenAI Agents SDK, responses", program: "openai-agents", args: [], tool: "find" },
  { name: "OpenAI Agents SDK, chat completions", program: "openai-agents", args: ["chat"], tool: "find" },
  { name: "Mastra", program: "mastra", args: [], tool: "find" },
  { name: "Claude Agent SDK", program: "claude-agent", args: [], tool: "mcp__users__find" },
];

describe.skipIf(folder === undefined)("an unmodified agent on", () => {
  test.each(frameworks)("$name is scored and recorded, two attempts at once", async ({ name, program, args, tool }) => {
    const ask = commandAgent({
      command: process.execPath,
      args: [fileURLToPath(new URL(`fixtures/frameworks/${program}.ts`, import.meta.url)), ...args],
      cwd: home,
      // settings and histories of these programs stay in a folder of their own
      env: { LUDUS_AGENTS: folder ?? "", HOME: home, MASTRA_TELEMETRY_DISABLED: "1" },
    });
    const answers: string[] = [];
    const env = agentEnv<string>({
      name: "finder",
      tasks: listed(["Find user-7"]),
      limits: { turns: 6, episodeMs: 120_000 },
      serve: {},
      async run(question, attempt) {
        const answer = await ask(question, attempt);
        answers.push(answer);
        return answer === "user-7 is found-7" ? 1 : 0;
      },
    });
    const model = modelFor(tool);
    const task = await env.tasks.at("train", 0);
    const { rollouts } = await runGroup(env, task, model, { id: "g", seed: 1, size: 2, temperature: 0, retries: 0 });
    for (const { stop, failure, trajectories, timing } of rollouts) {
      expect(failure).toBeUndefined();
      expect(stop).toBe("completed");
      expect(trajectories).toHaveLength(1);
      const [{ score, turns, tokens_T, mask_T, logprobs_T }] = trajectories;
      expect(score.total).toBe(1);
      expect(turns.map(({ text, calls }) => [text, calls.map((call) => call.name)])).toEqual([
        [`<tool_call>\n{"name": "${tool}", "arguments": {"who": "user-7"}}\n</tool_call>`, [tool]],
        ["user-7 is found-7", []],
      ]);
      expect(turns[0].calls[0].observation).toContain("found-7");
      const said = turns.map(({ span }) => model.tokenizer.decode(tokens_T.slice(span.start, span.end)));
      expect(said).toEqual(turns.map(({ text }) => text));
      const sampled = mask_T.reduce((sum, mask) => sum + mask, 0);
      expect(logprobs_T.filter((logprob) => logprob < 0).length).toBeGreaterThan(0);
      const seconds = (timing.totalMs / 1000).toFixed(1);
      console.log(
        `${name}: ${turns.length} turns, ${tokens_T.length} tokens, ${sampled} of them sampled, ${seconds} s`,
      );
    }
    expect(answers).toEqual(["user-7 is found-7", "user-7 is found-7"]);
  });
});
