import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { fakeEngine } from "../engine/fake-engine.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { callTool } from "../tool/call-tool.ts";
import { fakeContext } from "../tool/fake-context.ts";
import { mcpProtocols } from "../tool/mcp-server.ts";
import { mcpTools } from "../tool/mcp-tools.ts";
import { ToolError } from "../tool/tool.ts";
import { policySampler } from "./policy-sampler.ts";

const tokenizer = byteTokenizer({ special: ["<s>", "<e>"], markup: [], eos: "<e>" });
const renderer = compactRenderer({ tokenizer });
const [speak, end] = [256, 257];

/** Says the text, then ends its turn; what it read is kept. */
function sayingPolicy(text: string, contextLength = 512) {
  const read: string[] = [];
  const engine = fakeEngine({
    vocabularySize: tokenizer.vocabularySize,
    contextLength,
    tokenBytes: Array.from({ length: tokenizer.vocabularySize }, (_, id) => tokenizer.tokenBytes(id)),
    distribution(tokens) {
      const said = tokens.length - 1 - tokens.lastIndexOf(speak);
      if (said === 0) read.push(tokenizer.decode(Int32Array.from(tokens.slice(0, -1))));
      const weights = new Array<number>(tokenizer.vocabularySize).fill(0);
      weights[said < text.length ? text.charCodeAt(said) : end] = 1;
      return weights;
    },
  });
  return { policy: { engine, renderer }, read };
}

const { signal } = new AbortController();
const messages = [{ role: "user" as const, content: "legs?" }];

test.each([
  ["its turn", {}, { text: "eight.", stopReason: "endTurn" }],
  ["the server's limit", { maxTokens: 2 }, { text: "ei", stopReason: "maxTokens" }],
  ["a stop sequence", { stopSequences: ["ht"] }, { text: "eig", stopReason: "stopSequence" }],
])("a policy answers up to the end of %s", async (_, given, answer) => {
  const { policy } = sayingPolicy("eight.");
  expect(await policySampler(policy)({ messages, maxTokens: 100, ...given }, { signal })).toEqual(answer);
});

test("no answer is longer than the program allows, nor than the context", async () => {
  const short = policySampler(sayingPolicy("eight.").policy, { maxTokens: 3 });
  expect(await short({ messages, maxTokens: 100 }, { signal })).toMatchObject({ text: "eig" });
  const full = policySampler(sayingPolicy("eight.", 8).policy);
  await expect(
    full({ messages: [{ role: "user", content: "x".repeat(20) }], maxTokens: 9 }, { signal }),
  ).rejects.toThrow(/no room in a context of 8 tokens/);
});

test("what a server asks for wrongly is declined or passed over: it is no fault of the policy", async () => {
  const sample = policySampler(sayingPolicy("eight.").policy);
  const asked = { messages, maxTokens: 2.5, stopSequences: [""] };
  expect(await sample(asked, { signal })).toEqual({ text: "ei", stopReason: "maxTokens" });
  const declined = sample({ messages, maxTokens: 9, temperature: -1 }, { signal });
  await expect(declined).rejects.toThrow(ToolError);
  await expect(declined).rejects.toThrow(/temperature -1: expected 0 or more/);
});

test("options of the wrong size are refused", () => {
  const { policy } = sayingPolicy("");
  expect(() => policySampler(policy, { maxTokens: 0 })).toThrow(/bad-config: got maxTokens 0, expected/);
  expect(() => policySampler(policy, { temperature: Number.NaN })).toThrow(/bad-config: got temperature NaN/);
});

test("an option that is misspelt", () => {
  expect(() => policySampler(sayingPolicy("").policy, { maxToken: 1 } as never)).toThrow(/did you mean "maxTokens"/);
});

test.each(mcpProtocols)("a server samples from the policy in the middle of a call (%s)", async (protocol) => {
  const { policy, read } = sayingPolicy("eight");
  const path = fileURLToPath(new URL("../tool/fixtures/odd-mcp-server.ts", import.meta.url));
  const server = { command: process.execPath, args: [path] };
  const connection = await mcpTools(server, { protocol, sample: policySampler(policy) });
  const limits = { toolMs: 10_000, observationChars: 1_000 };
  const result = await callTool(connection.tools, { name: "sample", arguments: {} }, fakeContext(undefined), limits);
  await connection.close();
  expect(result).toMatchObject({ record: { outcome: "ok", observation: expect.stringContaining('"text":"eight"') } });
  expect(read).toEqual([expect.stringMatching(/Answer with a number\..*How many legs has a spider\?/s)]);
});
