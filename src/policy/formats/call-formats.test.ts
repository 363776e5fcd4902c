import { describe, expect, test } from "vitest";
import { callFormatContract, contractTools } from "../call-format.contract.ts";
import { renderChat } from "../chat-template.ts";
import { defaultChatTemplate } from "../default-chat-template.ts";
import { callFormats } from "./call-formats.ts";
import { compact } from "./compact.ts";
import { hermes } from "./hermes.ts";
import { llama } from "./llama.ts";
import { plain } from "./plain.ts";
import { react } from "./react.ts";
import { search } from "./search.ts";
import { thinkAnswer } from "./think-answer.ts";

const one = { maxCalls: 1, hasThoughts: true, answersBesideCalls: false };
const many = { maxCalls: 3, hasThoughts: true, answersBesideCalls: true };
callFormatContract("plain", plain, { maxCalls: 0, hasThoughts: false, answersBesideCalls: false });
callFormatContract("hermes", hermes, many);
callFormatContract("hermes after an open thought", () => hermes({ thoughtIsOpen: true }), many);
callFormatContract("react", react, one);
callFormatContract("think-answer", thinkAnswer, { ...one, maxCalls: 0 });
callFormatContract("think-answer after an open thought", () => thinkAnswer({ thoughtIsOpen: true }), {
  ...one,
  maxCalls: 0,
});
callFormatContract("llama", llama, one);
callFormatContract("search", search, {
  ...one,
  call: (rng) => ({ name: "search", arguments: { query: ["tea", 'who {is} "he"', "é 👍🏽\nx"][rng.integer(3)] } }),
});
callFormatContract("compact", compact, many);

const tea = { kind: "call", name: "search", arguments: { query: "tea" } };
const problem = (said: { calls: readonly { kind: string; problem?: string }[] }) =>
  said.calls.map((call) => call.problem ?? call.kind);

test("formats are known by their own names", () => {
  for (const [name, make] of Object.entries(callFormats)) expect(make().name).toBe(name);
});

test.each([hermes(), react(), llama()])("$name: tags in arguments are not tags", (format) => {
  const tags = "<think></think> <tool_call></tool_call> <action></action> <answer></answer> a < b";
  const calls = [{ name: "search", arguments: { [tags]: tags } }];
  expect(format.parse(format.write({ calls }))).toMatchObject({ calls, isWellFormed: true });
  expect(format.write({ calls: [{ name: "search", arguments: { query: "<b> a < b" } }] })).toContain("<b> a < b");
});

describe("plain", () => {
  test("all of the text is the answer", () => {
    expect(plain().parse(" <think>left</think>\n")).toEqual({
      calls: [],
      answer: "<think>left</think>",
      isWellFormed: true,
    });
  });

  test("has no words for thoughts and calls", () => {
    expect(() => plain().write({ thought: "x", answer: "y" })).toThrow("no thought and no call");
  });
});

describe("hermes", () => {
  const call = '<tool_call>\n{"name": "search", "arguments": {"query": "tea"}}\n</tool_call>';

  test("thought, words and calls", () => {
    expect(hermes().parse(`<think>\nfirst look\n</think>\n\nI look.\n${call}\n${call}`)).toEqual({
      thought: "first look",
      calls: [tea, tea],
      answer: "I look.",
      isWellFormed: true,
    });
    expect(hermes().parse("Green tea.")).toEqual({ calls: [], answer: "Green tea.", isWellFormed: true });
  });

  test("writes calls in the characters of the default template", () => {
    const calls = [
      { name: "search", arguments: { query: 'é "\n', top: 3, list: [1, { a: null }], none: {} } },
      { name: "now", arguments: {} },
    ];
    const message = { role: "assistant", content: "I look.", tool_calls: calls.map((each) => ({ function: each })) };
    const rendered = renderChat({ template: defaultChatTemplate, messages: [message], addGenerationPrompt: false });
    expect(rendered).toBe(`<|im_start|>assistant\n${hermes().write({ answer: "I look.", calls })}<|im_end|>\n`);
  });

  test.each([
    ["a second thought", `<think>a</think><think>b</think>${call}`],
    ["words after a call", `${call} there`],
    ["a call in a call", `<tool_call>${call}</tool_call>`],
    ["a tag that closes nothing", `</tool_call>${call}`],
    ["a thought after a call", `${call}<think>a</think>`],
    ["a thought that is not closed", `<think>a ${call}`],
  ])("%s: the call is understood, the form is not right", (_, text) => {
    const said = hermes().parse(text);
    expect(said.calls).toContainEqual(tea);
    expect(said.isWellFormed).toBe(false);
  });

  test("a call inside a thought was only thought of", () => {
    const said = hermes().parse(`<think>${call}</think>Hi`);
    expect(said).toMatchObject({ calls: [], answer: "Hi", isWellFormed: false });
  });

  test.each([
    ['{"name": "search", "arguments": {"query": "tea"}', "is not JSON"],
    ["[1]", "not a JSON object"],
    ['{"arguments": {}}', 'no "name"'],
    ['{"name": "search", "arguments": "tea"}', '"arguments" is not a JSON object'],
  ])("%s is told to be wrong, and how it is right", (json, wrong) => {
    const said = hermes().parse(`<tool_call>${json}</tool_call>`);
    expect(problem(said)[0]).toContain(wrong);
    expect(problem(said)[0]).toContain('Write <tool_call>\n{"name": "tool", "arguments"');
    expect(said.isWellFormed).toBe(false);
  });

  test("a call that was cut off is malformed", () => {
    expect(problem(hermes().parse('<tool_call>{"name": "now"}'))[0]).toContain("</tool_call> is missing");
  });

  test("tools are told on request", () => {
    expect(hermes().describe(contractTools)).toBe("");
    expect(hermes({ describeTools: true }).describe(contractTools)).toContain(
      '{"name": "search", "description": "Finds pages"',
    );
  });

  test("a thought that the prompt opened is closed", () => {
    const open = hermes({ thoughtIsOpen: true });
    expect(open.parse("first\n</think>\n\nHi")).toEqual({
      thought: "first",
      calls: [],
      answer: "Hi",
      isWellFormed: true,
    });
    expect(open.write({ thought: "first", answer: "Hi" })).toBe("first\n</think>\n\nHi");
  });
});

describe("react", () => {
  const parse = (text: string) => react().parse(text, contractTools);

  test("an action or an answer", () => {
    const written = '<think>look</think><action>search({"query": "tea"})</action>';
    expect(react().write({ thought: "look", calls: [tea] })).toBe(written);
    expect(parse(written)).toEqual({ thought: "look", calls: [tea], answer: "", isWellFormed: true });
    expect(parse("<answer> 4\n</answer>")).toEqual({ calls: [], answer: "4", isWellFormed: true });
  });

  test("understands a call that is all JSON, and one without arguments", () => {
    expect(parse('<action>{"name": "search", "arguments": {"query": "tea"}}</action>').calls).toEqual([tea]);
    expect(parse("<action>now()</action>").calls).toEqual([{ kind: "call", name: "now", arguments: {} }]);
  });

  test("is wrong with two actions, an action and an answer, or words outside", () => {
    for (const text of [
      "<action>now()</action><action>now()</action>",
      "<action>now()</action><answer>4</answer>",
      "Well, <action>now()</action>",
    ]) {
      expect(parse(text).isWellFormed).toBe(false);
    }
  });

  test("says what is wrong", () => {
    expect(problem(parse("<action>search(tea)</action>"))[0]).toContain("the arguments are not JSON");
    expect(problem(parse("<action>search([1])</action>"))[0]).toContain("not a JSON object");
    expect(problem(parse("<action>go left</action>"))[0]).toContain('no call. Write <action>tool({"argument"');
    expect(problem(parse("<action>now()"))[0]).toContain("</action> is missing");
    expect(problem(parse("4"))[0]).toContain("no action and no answer");
  });

  test("without tools nothing but the answer is read", () => {
    expect(react().parse("4")).toEqual({ calls: [], answer: "", isWellFormed: false });
    expect(react().describe([])).not.toContain("action");
  });
});

describe("think-answer", () => {
  test("both, in order, once", () => {
    const { parse } = thinkAnswer();
    expect(parse("<think>a</think> <answer>up</answer>")).toEqual({
      thought: "a",
      calls: [],
      answer: "up",
      isWellFormed: true,
    });
    for (const text of [
      "up",
      "<answer>up</answer>",
      "<answer>up</answer><think>a</think>",
      "<think>a</think><answer>up</answer><answer>up</answer>",
      "<think>a<think>b</think></think><answer>up</answer>",
      "<think>a</think>so <answer>up</answer>",
    ]) {
      expect(parse(text).isWellFormed).toBe(false);
    }
    expect(parse("up").answer).toBe("");
  });

  test("a demonstration without a thought has an empty one", () => {
    expect(thinkAnswer().write({ answer: "up" })).toBe("<think></think><answer>up</answer>");
  });
});

describe("llama", () => {
  test("a call is the whole message", () => {
    const written = '{"name": "search", "parameters": {"query": "tea"}}';
    expect(llama().write({ calls: [tea] })).toBe(written);
    expect(llama().parse(`<|python_tag|>${written}`)).toEqual({ calls: [tea], answer: "", isWellFormed: true });
    expect(llama().parse(`I call ${written}`).calls).toEqual([]);
  });

  test("an answer may be JSON, with a name even", () => {
    expect(llama().parse('{"name": "Ada"}')).toEqual({ calls: [], answer: '{"name": "Ada"}', isWellFormed: true });
  });

  test("a broken call is malformed, an open brace is not", () => {
    expect(problem(llama().parse('{"name": "search", "parameters": {"query": '))[0]).toContain("not JSON");
    expect(problem(llama().parse('{"parameters": {}}'))[0]).toContain('no "name"');
    expect(llama().parse("{x | x > 0}")).toMatchObject({ calls: [], answer: "{x | x > 0}" });
  });
});

describe("search", () => {
  test("a search or an answer", () => {
    const written = "<think>a</think><search>tea</search>";
    expect(search().write({ thought: "a", calls: [tea] })).toBe(written);
    expect(search().parse(written)).toEqual({ thought: "a", calls: [tea], answer: "", isWellFormed: true });
    expect(search().parse("<answer>4</answer>")).toEqual({ calls: [], answer: "4", isWellFormed: true });
  });

  test("found information is not the policy's to write", () => {
    const said = search().parse("<search>tea</search><information>Tea is green.</information>");
    expect(said).toMatchObject({ calls: [tea], isWellFormed: false });
    const thought = search().parse("<think><information>green</information></think><search>tea</search>");
    expect(thought).toMatchObject({ calls: [tea], isWellFormed: false });
  });

  test("says what is wrong", () => {
    expect(problem(search().parse("tea"))[0]).toContain("no search and no answer. Write <search>");
    expect(problem(search().parse("<search> </search>"))[0]).toContain("the query is empty");
    expect(problem(search().parse("<search>tea"))[0]).toContain("</search> is missing");
  });

  test("knows no other tool", () => {
    expect(() => search().write({ calls: [{ name: "now", arguments: {} }] })).toThrow("unwritable");
    expect(() => search().write({ calls: [{ name: "search", arguments: { query: "tea", top: 3 } }] })).toThrow(
      "unwritable",
    );
  });
});

describe("compact", () => {
  const parse = (text: string) => compact().parse(text, contractTools);
  const write = (name: string, given: Record<string, unknown>) =>
    compact().write({ calls: [{ name, arguments: given }] }, contractTools);

  test("a call is its name and its arguments in the schema's order", () => {
    expect(write("search", { query: "green tea" })).toBe("search green tea");
    expect(write("book", { place: "Ritz", seats: 2, outside: true, wishes: ["a b"], note: "by the sea" })).toBe(
      'book Ritz 2 1 ["a b"] by the sea',
    );
    expect(write("now", {})).toBe("now");
    expect(parse("book Ritz 2 false").calls).toEqual([
      { kind: "call", name: "book", arguments: { place: "Ritz", seats: 2, outside: false } },
    ]);
  });

  test("what is absent, has spaces or does not fit is still written", () => {
    expect(write("book", { place: "The Ritz", outside: false })).toBe('book "The Ritz" _ 0');
    expect(write("search", { query: "a\nb" })).toBe('search "a\\nb"');
    expect(write("search", { query: "_" })).toBe('search "_"');
    expect(write("search", { query: 4 })).toBe('search{"query":4}');
    expect(write("fly", { far: true })).toBe('fly{"far":true}');
  });

  test("thoughts, several calls and an answer are lines", () => {
    const said = { thought: "a\n\nb", calls: [tea, { kind: "call", name: "now", arguments: {} }], answer: "4\n=5" };
    const text = "#a\n#\n#b\nsearch tea\nnow\n=4\n=5";
    expect(compact().write(said, contractTools)).toBe(text);
    expect(parse(text)).toEqual({ ...said, isWellFormed: true });
    expect(parse("now\n#a").isWellFormed).toBe(false);
  });

  test("says what is wrong in few words", () => {
    expect(problem(parse("book Ritz two"))).toEqual([
      "seats is no number: two; write book place seats outside wishes note or =answer",
    ]);
    expect(problem(parse("book Ritz 1e999"))[0]).toContain("seats is no number");
    expect(problem(parse("now then"))).toEqual(["too much: then; write now or =answer"]);
    expect(problem(parse("4"))[0]).toContain("no tool 4; write search query or book");
    expect(problem(parse('search{"query"'))[0]).toContain("no JSON object");
    expect(problem(compact().parse(""))).toEqual(["nothing was said; write =answer"]);
  });
});
