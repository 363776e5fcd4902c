import { describe, expect, test } from "vitest";
import { byteTokenizer } from "./byte-tokenizer.ts";
import { chatRenderer } from "./chat-renderer.ts";
import { renderChat } from "./chat-template.ts";
import { compactRenderer } from "./compact-renderer.ts";
import { defaultChatTemplate } from "./default-chat-template.ts";
import { formats } from "./formats/call-formats.ts";
import { trainedConversations, trainedFormats, trainedRenderers } from "./testing/trained-conversations.ts";
import { templateNote } from "./trained-template.ts";

describe.each(trainedRenderers)("the template of the renderer %s", (name, renderer, tokenizer) => {
  test.each(trainedFormats.map((format) => [format.name, format.describe([]), format] as const))(
    "writes %s as in training",
    (_, __, format) => {
      // tools that a template has no place for are refused in training too
      if (name === "chat without tool turns" && format.describe([]) === "" && format.name !== "plain") return;
      const template = renderer.chatTemplate!(format);
      for (const { messages, tools, tokens } of trainedConversations(renderer, format, 60)) {
        const given = tools.length === 0 ? {} : { tools };
        const { specialTokens } = tokenizer;
        const text = renderChat({ template, messages, ...given, specialTokens, addGenerationPrompt: true });
        expect(text).toBe(tokenizer.decode(tokens, { special: true }));
        expect(tokenizer.encode(text, { special: true })).toEqual(tokens);
      }
    },
  );
});

test("a template says what it was made for, and nothing where it is another program's", () => {
  const tokenizer = byteTokenizer();
  const compact = compactRenderer({ tokenizer }).chatTemplate!(formats.react());
  expect(templateNote(compact)).toEqual({ renderer: "compact", format: "react" });
  expect(templateNote(chatRenderer({ tokenizer }).chatTemplate!(formats.llama()))).toEqual({
    renderer: "chat",
    format: "llama",
  });
  expect(chatRenderer({ tokenizer }).chatTemplate!(formats.hermes())).toBe(defaultChatTemplate);
  expect(templateNote(defaultChatTemplate)).toBeUndefined();
  expect(templateNote(undefined)).toBeUndefined();
  expect(() => templateNote('{#- ludus {"renderer": -#}')).toThrow("bad-template-note");
});

test("a trained template may be trained on, with another format", () => {
  const tokenizer = byteTokenizer({
    chatTemplate: chatRenderer({ tokenizer: byteTokenizer() }).chatTemplate!(formats.react()),
  });
  const again = chatRenderer({ tokenizer }).chatTemplate!(formats.llama());
  expect(again).toBe(chatRenderer({ tokenizer: byteTokenizer() }).chatTemplate!(formats.llama()));
});

test("instructions that a system message holds already are not told again", () => {
  const template = compactRenderer({ tokenizer: byteTokenizer() }).chatTemplate!(formats.thinkAnswer());
  const content = formats.thinkAnswer().describe([]);
  const messages = [
    { role: "system", content },
    { role: "user", content: "hi" },
  ];
  expect(renderChat({ template, messages, addGenerationPrompt: true })).toBe(`${content}\nhi<|im_start|>`);
});

test("a call that a format cannot write is refused in words", () => {
  const template = compactRenderer({ tokenizer: byteTokenizer() }).chatTemplate!(formats.plain());
  const messages = [{ role: "assistant", content: "", tool_calls: [{ name: "search", arguments: {} }] }];
  expect(() => renderChat({ template, messages, addGenerationPrompt: true })).toThrow("no way to write a tool call");
});
