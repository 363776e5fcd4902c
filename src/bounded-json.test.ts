import { expect, test } from "vitest";
import { checkJsonDepth, isTooDeep, parseBoundedJson } from "./bounded-json.ts";
import { bounds } from "./bounds.ts";
import { formats } from "./policy/index.ts";
import { conversationFromChat } from "./schema/index.ts";
import { mcpText } from "./tool/mcp-content.ts";
import { checkParameters } from "./tool/parameters-of.ts";

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const deep = nested(3000);

test("JSON is read up to the bound, and refused beyond it", () => {
  expect(parseBoundedJson(nested(bounds.jsonDepth))).toEqual(JSON.parse(nested(bounds.jsonDepth)));
  expect(() => parseBoundedJson(nested(bounds.jsonDepth + 1))).toThrow("nested deeper than 128 levels");
  expect(() => parseBoundedJson(deep)).toThrow(SyntaxError);
  expect(checkJsonDepth(JSON.parse(nested(bounds.jsonDepth)))).toBeDefined();
  expect(() => checkJsonDepth(JSON.parse(nested(bounds.jsonDepth + 1)))).toThrow("nested deeper");
  expect(() => checkJsonDepth(JSON.parse(nested(100_000)))).toThrow("nested deeper");
});

test("brackets in strings are no levels, and many shallow values are no depth", () => {
  expect(parseBoundedJson(JSON.stringify([`"\\${"[".repeat(500)}`]))).toEqual([`"\\${"[".repeat(500)}`]);
  expect(parseBoundedJson(`[${"[],".repeat(1000)}[]]`)).toHaveLength(1001);
});

test("no format reads a call whose arguments are nested too deep", () => {
  const tools = [{ name: "f", description: "", parameters: { type: "object", properties: { a: {} } } }];
  const texts = {
    hermes: `<tool_call>{"name": "f", "arguments": {"a": ${deep}}}</tool_call>`,
    react: `<action>f({"a": ${deep}})</action>`,
    llama: `{"name": "f", "parameters": {"a": ${deep}}}`,
    compact: `f{"a": ${deep}}\nf ${deep}`,
  };
  for (const [name, text] of Object.entries(texts)) {
    const { calls } = formats[name as keyof typeof texts]().parse(text, tools);
    expect(
      calls.map(({ kind }) => kind),
      name,
    ).toEqual(name === "compact" ? ["malformed", "malformed"] : ["malformed"]);
  }
});

test("a tool whose schema is nested too deep is refused by name", () => {
  const schema = { type: "object", properties: { a: { enum: JSON.parse(deep) } } };
  expect(() => checkParameters(schema)).toThrow("tool-input-too-deep");
});

test("chat rows and MCP answers that are nested too deep are refused", () => {
  const row = (given: unknown) => ({
    messages: [{ role: "assistant", content: "", tool_calls: [{ function: { name: "f", arguments: given } }] }],
  });
  expect(() => conversationFromChat(row(`{"a": ${deep}}`))).toThrow(/bad-chat-row.*JSON of at most 128 levels/);
  expect(() => conversationFromChat(row({ a: JSON.parse(nested(100_000)) }))).toThrow(
    /bad-chat-row.*JSON of at most 128 levels/,
  );
  expect(() => mcpText({ content: [], structuredContent: { a: JSON.parse(deep) } })).toThrow("nested deeper");
});

test("text that is no JSON has an answer too", () => {
  expect(isTooDeep('"\\')).toBe(false);
  expect(isTooDeep("]".repeat(1000))).toBe(false);
  expect(isTooDeep("[".repeat(10_000_000))).toBe(true);
});
