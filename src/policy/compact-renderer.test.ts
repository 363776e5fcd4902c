import { describe, expect, test } from "vitest";
import type { Message, ToolSpec } from "../schema/message.ts";
import { byteTokenizer } from "./byte-tokenizer.ts";
import { type CompactRendererOptions, compactRenderer } from "./compact-renderer.ts";
import { rendererContract } from "./renderer.contract.ts";
import { trainBpe } from "./train-bpe.ts";

const tiny = byteTokenizer({ special: ["<s>", "<e>"], markup: [], eos: "<e>" });
const bpe = trainBpe({ texts: ["higher lower guess my number higher lower"], vocabularySize: 290 });
for (const [name, tokenizer] of [
  ["bytes", byteTokenizer()],
  ["two control tokens", tiny],
  ["bpe", bpe],
] as const) {
  rendererContract(name, () => ({ renderer: compactRenderer({ tokenizer }), tokenizer }));
}

const look: ToolSpec = {
  name: "look",
  description: "Looks",
  parameters: { type: "object", properties: { place: { type: "string" }, far: { type: "boolean" } } },
};

describe("compactRenderer", () => {
  const messages: Message[] = [
    { role: "system", content: "Play." },
    { role: "user", content: "Guess." },
  ];
  const started = (tools: readonly ToolSpec[], options: Partial<CompactRendererOptions> = {}) =>
    tiny.decode(compactRenderer({ tokenizer: tiny, ...options }).start(messages, tools), { special: true });

  test("spends one token to give the word and one to take it back", () => {
    const renderer = compactRenderer({ tokenizer: tiny });
    expect(started([look])).toBe("Play.\nGuess.<s>");
    const turn = [...renderer.say("50"), ...renderer.next([{ role: "user", content: "up" }], { ended: true })];
    expect(turn).toEqual([53, 48, 257, 117, 112, 256]);
    expect([...renderer.next([], { ended: false })]).toEqual([257, 256]);
  });

  test("an assistant's message in the prompt is a turn like those it speaks", () => {
    const renderer = compactRenderer({ tokenizer: tiny });
    const spoken: Message[] = [...messages, { role: "assistant", content: "50" }, { role: "user", content: "up" }];
    const whole = [
      ...renderer.start(messages, []),
      ...renderer.say("50"),
      ...renderer.next([{ role: "user", content: "up" }], { ended: true }),
    ];
    expect([...renderer.start(spoken, [])]).toEqual(whole);
  });

  test("tools are told when asked for", () => {
    expect(started([look], { describeTools: true })).toBe("Play.\nlook place:string far:boolean - Looks\nGuess.<s>");
  });

  test("calls that nobody has written are refused", () => {
    const calls = [{ name: "look", arguments: {} }];
    const { start } = compactRenderer({ tokenizer: tiny });
    expect(() => start([{ role: "assistant", content: "", calls }], [])).toThrow("message-unwritable");
  });

  test("a tokenizer that lacks a control token is refused", () => {
    expect(() => compactRenderer({ tokenizer: byteTokenizer({ special: ["<s>"] }) })).toThrow("turn-end-missing");
    const noSpeak = byteTokenizer({ special: ["<e>"], eos: "<e>" });
    expect(() => compactRenderer({ tokenizer: noSpeak })).toThrow("speak-token-missing");
    expect(() => compactRenderer({ tokenizer: tiny, speak: "<e>" })).toThrow("one of <s>");
  });
});
