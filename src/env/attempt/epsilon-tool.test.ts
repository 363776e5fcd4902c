import { expect, test } from "vitest";
import { z } from "zod";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { chatRenderer } from "../../policy/chat-renderer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { compact } from "../../policy/formats/compact.ts";
import { hermes } from "../../policy/formats/hermes.ts";
import { plain } from "../../policy/formats/plain.ts";
import type { Renderer } from "../../policy/renderer.ts";
import type { RolloutOptions } from "../../rollout/rollout.ts";
import { runRollout } from "../../rollout/run-rollout.ts";
import { generated } from "../../task/generated.ts";
import { tool } from "../../tool/define-tool.ts";
import { defineEnv } from "../define-env.ts";

import { checkTokens } from "./contract/check-tokens.ts";
import { scriptedEngine } from "./contract/scripted-engine.ts";

const tokenizer = byteTokenizer();
/** Its turns end with three tokens: a line end, a letter, and the control token. */
const longEnd = `{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content }}
{%- if message.role == 'assistant' %}{{- '\\nz<|im_end|>' }}{%- else %}{{- '<|im_end|>' }}{%- endif %}{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}{#- tools -#}`;

const input = z.object({ query: z.string() });
const shop = defineEnv({
  name: "shop",
  tasks: generated(() => null),
  start: () => ({ state: null, say: "hello" }),
  tools: { look: tool({ input, run: ({ query }) => `saw ${query}` }), buy: tool({ input, run: () => "bought" }) },
  limits: { turns: 40, tokens: 100_000 },
});

async function explore(renderer: Renderer, options: Partial<RolloutOptions>, says = "tea") {
  const policy = scriptedEngine({ tokenizer, renderer, says: [says], contextLength: 1 << 16 });
  const task = await shop.tasks.at("train", 0);
  const rollout = await runRollout(shop, task, policy, { id: "r", seed: 3, ...options });
  checkTokens(rollout.trajectories, policy.samples);
  return { ...rollout, ...rollout.trajectories[0], samples: policy.samples };
}

const renderers: [string, Renderer][] = [
  ["compact", compactRenderer({ tokenizer })],
  ["chat", chatRenderer({ tokenizer })],
  ["chat whose turns end with several tokens", chatRenderer({ tokenizer, template: longEnd })],
];

test.each(renderers)("a forced beginning is said, not learned (%s)", async (_, renderer) => {
  const { turns, mask_T, tokens_T, logprobs_T, versions_T } = await explore(renderer, {
    epsilonTool: 1,
    format: compact(),
  });
  const openings = turns.map(({ text }) => text.split(" ")[0]);
  expect(new Set(openings)).toEqual(new Set(["look", "buy"]));
  for (const { span, text, calls } of turns) {
    expect(text).toMatch(/^(look|buy) tea/);
    expect(calls[0].outcome).toBe("ok");
    const forced = text.indexOf(" ") + 1;
    const at = span.start + forced;
    expect(tokenizer.decode(tokens_T.slice(span.start, at))).toBe(text.slice(0, forced));
    expect([...mask_T.slice(span.start, at)]).toEqual(Array(forced).fill(0));
    expect([...logprobs_T.slice(span.start, at)]).toEqual(Array(forced).fill(0));
    expect([...versions_T.slice(span.start, at)]).toEqual(Array(forced).fill(-1));
    expect(mask_T.slice(at, span.end).every((m) => m === 1)).toBe(true);
  }
});

test("it happens as often as asked, by the rollout's chance", async () => {
  const [, renderer] = renderers[0];
  const forced = async (epsilonTool: number, seed: number) => {
    const { turns } = await explore(renderer, { epsilonTool, seed, format: compact() }, "look tea");
    return turns.map(({ text }) => (text === "look tea" ? "." : "x")).join("");
  };
  expect(await forced(0, 3)).toBe(".".repeat(40));
  const some = await forced(0.3, 3);
  expect(await forced(0.3, 3)).toBe(some);
  expect(await forced(0.3, 4)).not.toBe(some);
  const seeds = Array.from({ length: 25 }, (_, seed) => forced(0.3, seed));
  const share = (await Promise.all(seeds)).join("").replaceAll(".", "").length / 1_000;
  expect(share).toBeGreaterThan(0.25);
  expect(share).toBeLessThan(0.35);
});

test("a call in JSON is begun up to its arguments", async () => {
  const [, renderer] = renderers[1];
  const { turns } = await explore(renderer, { epsilonTool: 1, format: hermes() }, '{"query": "tea"}}</tool_call>');
  expect(turns).toHaveLength(40);
  for (const { calls } of turns) expect(calls).toMatchObject([{ outcome: "ok", arguments: { query: "tea" } }]);
});

test("what is forced counts as said, and leaves room to sample a token", async () => {
  const [, renderer] = renderers[0];
  for (const turnTokens of [1, 2, 3, 4, 5, 6]) {
    const { turns, samples } = await explore(renderer, { epsilonTool: 1, format: compact(), limits: { turnTokens } });
    expect(turns[0].span.end - turns[0].span.start).toBe(turnTokens);
    expect(samples[0].sample.tokens.length).toBeGreaterThan(0);
  }
});

test("a format that cannot begin a call is left alone", async () => {
  const [, renderer] = renderers[0];
  const { turns } = await explore(renderer, { epsilonTool: 1, format: plain() });
  expect(turns.map(({ text }) => text)).toEqual(["tea"]);
});
