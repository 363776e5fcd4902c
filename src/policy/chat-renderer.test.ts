import { describe, expect, test } from "vitest";
import { createRng, type Rng } from "../random.ts";
import type { Message, ToolSpec } from "../schema/message.ts";
import { byteTokenizer } from "./byte-tokenizer.ts";
import { chatRenderer } from "./chat-renderer.ts";
import { llamaLikeTemplate, qwenLikeTemplate, thinkingTemplate } from "./chat-template.contract.ts";
import { defaultChatTemplate } from "./default-chat-template.ts";
import { encodeChat } from "./encode-chat.ts";
import { rendererContract } from "./renderer.contract.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { trainBpe } from "./train-bpe.ts";

const tokenizer = byteTokenizer();
const bpe = trainBpe({ texts: ["user system assistant Hi there, question and answer"], vocabularySize: 300 });

/** Llama 3: headers, and tools in the role of `ipython`. */
const headerTemplate = `{%- for message in messages %}
{{- '<|start_header_id|>' + ('ipython' if message.role == 'tool' else message.role) + '<|end_header_id|>\\n\\n' + message.content | trim + '<|eot_id|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{%- endif %}`;
const headerTokenizer = byteTokenizer({
  special: ["<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
  eos: "<|end_of_text|>",
});

/** GLM: nothing ends a turn but the opening of the next. */
const openingTemplate = `{%- for message in messages %}
{{- '<|' + ('observation' if message.role == 'tool' else message.role) + '|>\\n' + message.content }}
{%- endfor %}{%- if add_generation_prompt %}{{- '<|assistant|>\\n' }}{%- endif %}`;
const openingTokenizer = byteTokenizer({
  special: ["<|endoftext|>", "<|user|>", "<|assistant|>", "<|observation|>"],
  eos: "<|endoftext|>",
});

/** Mistral, Gemma: user and assistant in turns, no one else; a space before the end. */
const strictTemplate = `{%- for message in messages %}
{%- if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{- raise_exception('roles must alternate') }}{%- endif %}
{{- '[INST] ' + message.content + ' [/INST]' if message.role == 'user' else ' ' + message.content + ' </s>' }}
{%- endfor %}`;
const strictTokenizer = byteTokenizer({ special: ["<s>", "</s>", "[INST]", "[/INST]"], markup: [], eos: "</s>" });

const made: readonly (readonly [string, Tokenizer, string])[] = [
  ["default", tokenizer, defaultChatTemplate],
  ["default, bpe", bpe, defaultChatTemplate],
  ["qwen-like", tokenizer, qwenLikeTemplate],
  ["thinking", tokenizer, thinkingTemplate],
  ["header", headerTokenizer, headerTemplate],
  ["opening", openingTokenizer, openingTemplate],
];
for (const [name, own, template] of made) {
  rendererContract(name, () => ({ renderer: chatRenderer({ tokenizer: own, template }), tokenizer: own }));
}

const searchSpec: ToolSpec = {
  name: "search",
  description: "Finds pages",
  parameters: { type: "object", properties: { query: { type: "string" } } },
};

/** Random conversations of which the assistant's turns are spoken, not rendered. */
function spoken(rng: Rng, say: () => string): { first: Message[]; turns: { said: string; next: Message[] }[] } {
  const pick = <Value>(from: readonly Value[]) => from[rng.integer(from.length)]!;
  const system: Message[] = rng.next() < 0.5 ? [{ role: "system", content: say() }] : [];
  const patterns: readonly (readonly ("user" | "tool")[])[] = [["user"], ["tool"], ["tool", "tool"], ["tool", "user"]];
  const turns = Array.from({ length: 1 + rng.integer(4) }, () => ({
    said: say(),
    next: pick(patterns).map((role): Message => ({ role, content: say() })),
  }));
  return { first: [...system, { role: "user", content: say() }], turns };
}

describe("turn by turn", () => {
  const cases = [made[0], made[1], made[2], made[4]];
  test.each(cases)("%s: the same tokens as the whole conversation at once", (name, own, template) => {
    const renderer = chatRenderer({ tokenizer: own, template });
    const rng = createRng(5);
    const pieces = ["tea", " and ", "<|im_end|>", "<|eot_id|>", "\n", "é👍🏽", '{"a": 1}', "3", "</s>"];
    // no white space at the ends: BPE joins it with a template's own, and header templates trim it
    const say = () => `x${Array.from({ length: rng.integer(6) }, () => pieces[rng.integer(pieces.length)]).join("")}y`;
    for (let count = 0; count < 60; count++) {
      const { first, turns } = spoken(rng, say);
      const tools = name.startsWith("header") || count % 2 === 0 ? [] : [searchSpec];
      const messages = [...first];
      const tokens = [...renderer.start(first, tools)];
      for (const { said, next } of turns) {
        const sampled = renderer.say(said);
        const ended = rng.next() < 0.5;
        tokens.push(...(ended ? sampled : sampled.slice(0, -1)), ...renderer.next(next, { ended }));
        messages.push({ role: "assistant", content: said }, ...next);
      }
      const given = tools.length === 0 ? {} : { tools: tools.map((spec) => ({ type: "function", function: spec })) };
      const whole = encodeChat({
        tokenizer: own,
        template,
        messages: messages.map((message) => ({ ...message })),
        ...given,
        addGenerationPrompt: true,
      });
      expect(tokens).toEqual(Array.from(whole));
    }
  });

  test("answers of several tools are one user turn where the template joins them", () => {
    const { next } = chatRenderer({ tokenizer, template: qwenLikeTemplate });
    const answers: Message[] = [
      { role: "tool", content: "1" },
      { role: "tool", content: "2" },
    ];
    expect(tokenizer.decode(next(answers, { ended: true }), { special: true })).toBe(
      "\n<|im_start|>user\n<tool_response>\n1\n</tool_response>\n<tool_response>\n2\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
    );
  });

  test("a template that drops earlier thoughts goes on as if it had not", () => {
    const { say, next } = chatRenderer({ tokenizer, template: thinkingTemplate });
    const turn = [...say("<think>a</think>4"), ...next([{ role: "user", content: "3+3" }], { ended: true })];
    expect(tokenizer.decode(turn, { special: true })).toBe(
      "<think>a</think>4<|im_end|>\n<|im_start|>user\n3+3<|im_end|>\n<|im_start|>assistant\n",
    );
  });

  test("variables of the template hold for every turn", () => {
    const off = chatRenderer({ tokenizer, template: thinkingTemplate, variables: { enable_thinking: false } });
    const opening = "<|im_start|>assistant\n<think>\n\n</think>\n\n";
    const messages: Message[] = [{ role: "user", content: "x" }];
    for (const tokens of [off.start(messages, []), off.next(messages, { ended: true })]) {
      expect(tokenizer.decode(tokens, { special: true }).endsWith(opening)).toBe(true);
    }
  });

  test("tools and an assistant's calls are told as the template tells them", () => {
    const { start } = chatRenderer({ tokenizer });
    const calls = [{ name: "search", arguments: { query: "tea" } }];
    const text = tokenizer.decode(start([{ role: "assistant", content: "", calls }], [searchSpec]));
    expect(text).toContain('{"type": "function", "function": {"name": "search", "description": "Finds pages"');
    expect(text).toContain('<tool_call>\n{"name": "search", "arguments": {"query": "tea"}}\n</tool_call>');
  });
});

describe("rendering", () => {
  const tool: ToolSpec = { name: "search", description: "Finds facts", parameters: { type: "object" } };
  const ask = (content: string): Message[] => [{ role: "user", content }];

  test("a beginning that was rendered before is not rendered again, whoever changed the tokens of the first", () => {
    let encoded = 0;
    const counting: Tokenizer = {
      ...tokenizer,
      encode(...given) {
        encoded++;
        return tokenizer.encode(...given);
      },
    };
    const renderer = chatRenderer({ tokenizer: counting });
    const fresh = chatRenderer({ tokenizer });
    const first = renderer.start(ask("Hi"), [tool]);
    const before = encoded;
    first.fill(0);
    expect(renderer.start(ask("Hi"), [tool])).toEqual(fresh.start(ask("Hi"), [tool]));
    expect(encoded).toBe(before);
    expect(renderer.start(ask("Hi"), [])).toEqual(fresh.start(ask("Hi"), []));
    expect(renderer.start(ask("Ho"), [tool])).toEqual(fresh.start(ask("Ho"), [tool]));
    expect(renderer.start(ask("Hi"), [{ ...tool, name: "find" }])).toEqual(
      fresh.start(ask("Hi"), [{ ...tool, name: "find" }]),
    );
  });
});

describe("ends of turns", () => {
  const ids = (own: Tokenizer, ...texts: string[]) => texts.map((text) => own.controlTokens.get(text));

  test("a turn ends with what the template writes, or with eos", () => {
    expect(chatRenderer({ tokenizer }).stopTokens).toEqual(ids(tokenizer, "<|im_end|>"));
    const header = chatRenderer({ tokenizer: headerTokenizer, template: headerTemplate });
    expect(header.stopTokens).toEqual(ids(headerTokenizer, "<|eot_id|>", "<|end_of_text|>"));
    expect(header.say("x").at(-1)).toBe(headerTokenizer.controlTokens.get("<|eot_id|>"));
  });

  test("an opening that ends the turn before it is sampled, not added", () => {
    const { stopTokens, next } = chatRenderer({ tokenizer: openingTokenizer, template: openingTemplate });
    expect(stopTokens).toEqual(ids(openingTokenizer, "<|user|>", "<|observation|>", "<|endoftext|>"));
    const text = (ended: boolean) =>
      openingTokenizer.decode(next([{ role: "tool", content: "x" }], { ended }), { special: true });
    expect(text(true)).toBe("\nx<|assistant|>\n");
    expect(text(false)).toBe("<|observation|>\nx<|assistant|>\n");
  });

  test("text between the words and the end belongs to the end", () => {
    const { say, read, next } = chatRenderer({ tokenizer: strictTokenizer, template: strictTemplate });
    expect(strictTokenizer.decode(say("4"), { special: true })).toBe("4 </s>");
    expect(read(say("4"))).toBe("4");
    const text = (ended: boolean) =>
      strictTokenizer.decode(next([{ role: "user", content: "x" }], { ended }), { special: true });
    expect(text(true)).toBe("[INST] x [/INST]");
    expect(text(false)).toBe(" </s>[INST] x [/INST]");
  });

  test("a template without ends takes eos", () => {
    const template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: ";
    const { stopTokens, next } = chatRenderer({ tokenizer, template });
    expect(stopTokens).toEqual(ids(tokenizer, "<|im_end|>"));
    const text = (ended: boolean) =>
      tokenizer.decode(next([{ role: "user", content: "x" }], { ended }), { special: true });
    expect(text(true)).toBe("\nuser: x\nassistant: ");
    expect(text(false)).toBe("<|im_end|>\nuser: x\nassistant: ");
    const silent = byteTokenizer({ special: ["<|pad|>"] });
    expect(() => chatRenderer({ tokenizer: silent, template })).toThrow("turn-end-missing");
  });
});

describe("templates that will not do", () => {
  test("one whose turns depend on what came before is refused at once", () => {
    expect(() => chatRenderer({ tokenizer, template: llamaLikeTemplate })).toThrow("template-not-incremental");
  });

  test("one that drops or repeats an assistant's words is refused at once", () => {
    const twice = "{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}";
    expect(() => chatRenderer({ tokenizer, template: twice })).toThrow("an assistant's words 2 times");
    const never = "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}";
    expect(() => chatRenderer({ tokenizer, template: never })).toThrow("an assistant's words 0 times");
  });

  test("a tokenizer without a template is refused", () => {
    const bare = byteTokenizer({ special: ["<e>"], eos: "<e>" });
    expect(() => chatRenderer({ tokenizer: bare })).toThrow("template-missing");
  });

  test("tool answers without a place are the user's words, as one message", () => {
    const { next } = chatRenderer({ tokenizer: strictTokenizer, template: strictTemplate });
    const messages: Message[] = [
      { role: "tool", content: "1" },
      { role: "tool", content: "2</s>" },
    ];
    const tokens = next(messages, { ended: true });
    expect(strictTokenizer.decode(tokens, { special: true })).toBe(
      "[INST] <tool_response>\n1\n</tool_response>\n<tool_response>\n2</s>\n</tool_response> [/INST]",
    );
    expect(Array.from(tokens)).not.toContain(strictTokenizer.controlTokens.get("</s>"));
  });

  test("tools that the template would keep silent about are refused", () => {
    const { start } = chatRenderer({ tokenizer: headerTokenizer, template: headerTemplate });
    expect(() => start([{ role: "user", content: "x" }], [searchSpec])).toThrow("tools-untold");
  });
});
