import { describe, expect, test } from "vitest";
import { conversation, llamaLikeTemplate, searchTool, thinkingTemplate } from "./chat-template.contract.ts";
import { type ChatMessage, renderChat } from "./chat-template.ts";
import { defaultChatTemplate } from "./default-chat-template.ts";

const user: ChatMessage[] = [{ role: "user", content: "Hi" }];
const render = (template: string, messages = user, more: object = {}) =>
  renderChat({ template, messages, addGenerationPrompt: false, ...more });

describe("the default template", () => {
  test("a turn for every message", () => {
    expect(
      render(defaultChatTemplate, [{ role: "system", content: "Be kind." }, ...user], { addGenerationPrompt: true }),
    ).toBe("<|im_start|>system\nBe kind.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  });

  test("tool calls are JSON, tool answers turns of their own", () => {
    const call = { type: "function", function: { name: "search", arguments: { query: "é", top: 1 } } };
    const messages = [
      { role: "assistant", content: "", tool_calls: [call] },
      { role: "tool", content: "found" },
    ];
    expect(render(defaultChatTemplate, messages)).toBe(
      '<|im_start|>assistant\n<tool_call>\n{"name": "search", "arguments": {"query": "é", "top": 1}}\n</tool_call><|im_end|>\n' +
        "<|im_start|>tool\n<tool_response>\nfound\n</tool_response><|im_end|>\n",
    );
  });

  test("tools are told in the system turn", () => {
    const text = render(defaultChatTemplate, conversation.slice(0, 2), { tools: [searchTool] });
    expect(text).toContain("<|im_start|>system\n Be brief. \n\n# Tools");
    expect(text).toContain('<tools>\n{"type": "function", "function": {"name": "search"');
    expect(text.match(/<\|im_start\|>/g)).toHaveLength(2);
  });

  test("a longer conversation begins with the shorter one", () => {
    for (const tools of [undefined, [searchTool]]) {
      for (let count = 2; count < conversation.length; count++) {
        const more = tools === undefined ? {} : { tools };
        const shorter = render(defaultChatTemplate, conversation.slice(0, count - 1), more);
        expect(render(defaultChatTemplate, conversation.slice(0, count), more).startsWith(shorter)).toBe(true);
      }
    }
  });
});

describe("renderChat", () => {
  test("writes values as Python does", () => {
    expect(render("{{ true }} {{ none }} {{ [1, 'a', {'b': false}] }} {{ 'x' ~ none }} {{ missing }}")).toBe(
      "True None [1, 'a', {'b': False}] xNone ",
    );
    expect(render("{{ {'a': [], 'b': {}} | tojson(indent=2) }}")).toBe('{\n  "a": [],\n  "b": {}\n}');
  });

  test("strip heeds its argument", () => {
    expect(render("{{ '\\n  x '.lstrip('\\n') }}|{{ 'xxaxx'.strip('x') }}|{{ ' a '.strip() }}")).toBe("  x |a|a");
  });

  test("gives templates their special tokens, variables and date", () => {
    const specialTokens = { bos: { id: 1, text: "<s>" } };
    expect(render("{{ bos_token }}{{ flag }}", user, { specialTokens, variables: { flag: 3 } })).toBe("<s>3");
    expect(render("{{ strftime_now('%d %b %Y') }}", user, { now: new Date(2024, 6, 26) })).toBe("26 Jul 2024");
    expect(render("{% if strftime_now is defined %}now{% else %}then{% endif %}")).toBe("then");
  });

  test("a property that is undefined is absent", () => {
    expect(render("{{ messages[0].x is defined }}", [{ role: "user", content: "", x: undefined }])).toBe("False");
  });

  test("the same template twice, from the same text", () => {
    expect(render(thinkingTemplate)).toBe(render(thinkingTemplate));
    expect(render(llamaLikeTemplate, user, { specialTokens: { eos: { id: 0, text: "." } } })).toContain(
      "[user 1/1]\nHi.",
    );
  });
});

describe("errors name the line", () => {
  test("a character that is no Jinja", () => {
    expect(() => render("a\nb\n{{ messages @ 2 }}\nc")).toThrow(
      /template-failed: got "Unexpected character: @".*on line 3/,
    );
  });

  test("a tag that does not parse", () => {
    expect(() => render("a\n{# note {{ #}\n{{ 'x' }}\n{{ 1 2 }}\n{{ 'y' }}")).toThrow(/on line 4 \("{{ 1 2 }}"\)/);
    expect(() => render("{% if true %}\nx")).toThrow("on line 1");
  });

  test("a tag that fails when it runs", () => {
    const template =
      "{% for m in messages %}\n{% if m.role == 'user' %}\n{{ m.content.nope() }}\n{% endif %}\n{% endfor %}";
    expect(() => render(template)).toThrow(/template-failed: .*on line 3 \("{{ m.content.nope\(\) }}"\)/);
  });

  test("a template that refuses the messages", () => {
    const template =
      "{% for m in messages %}\n{% if m.role != 'user' %}\n{{ raise_exception('Only users!') }}{% endif %}{% endfor %}";
    expect(() => render(template, conversation)).toThrow(
      /chat-refused: got messages of the roles system, user, .*, expected what the chat template accepts on line 3: Only users!/,
    );
  });

  test("a template that wants the date", () => {
    expect(() => render("{{ strftime_now('%Y') }}")).toThrow("pass now, fixed for a run");
  });

  test("tojson of nothing", () => {
    expect(() => render("{{ messages[0].nothing | tojson }}")).toThrow("tojson was given an undefined value");
  });
});
