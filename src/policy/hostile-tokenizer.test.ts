import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { renderChat } from "./chat-template.ts";
import { loadTokenizer, tokenizerFromJson } from "./load-tokenizer.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-hostile-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const vocab = Object.fromEntries(Array.from("abcdefghijklmnopqrstuvwxyz !", (letter, id) => [letter, id]));
const model = { type: "BPE", vocab, merges: [] };
const split = (Regex: string) => ({ type: "Split", pattern: { Regex }, behavior: "Isolated", invert: false });
const json = (more: object) => ({ model, added_tokens: [], ...more });
const added = (id: number, content: string) => ({ id, content, special: true });

/** Runs, and says how long it took. */
function timed(run: () => unknown): { error: unknown; ms: number } {
  const began = performance.now();
  try {
    run();
    return { error: undefined, ms: performance.now() - began };
  } catch (error) {
    return { error, ms: performance.now() - began };
  }
}

test.each([
  ["exponential", "(a+)+$", `${"a".repeat(60)}!`],
  ["alternatives", "(a|a)*b", "a".repeat(60)],
  ["polynomial", "\\s*\\s*\\s*x", " ".repeat(20_000)],
])("an expression that backtracks is stopped, by the name of its file (%s)", (_, regex, text) => {
  const tokenizer = tokenizerFromJson(json({ pre_tokenizer: split(regex) }));
  const { error, ms } = timed(() => tokenizer.encode(text));
  expect(error).toMatchObject({ code: "tokenizer-too-slow", message: expect.stringContaining("tokenizer.json") });
  expect(ms).toBeLessThan(20_000);
  expect(Array.from(tokenizer.encode("b"))).toEqual([1]);
});

test("other expressions find what they should, with and without a guard", () => {
  for (const regex of ["[a-c]+", "(?:[a-c])+", "a|b|c", "\\s+(?!\\S)|\\s+"]) {
    const tokenizer = tokenizerFromJson(json({ pre_tokenizer: split(regex) }));
    expect(tokenizer.decode(tokenizer.encode("abc xyz  a")), regex).toBe("a b c   x y z     a");
  }
});

test.each([
  ["an id without bound", json({ added_tokens: [added(1e12, "<x>")] }), {}],
  ["an id in the vocabulary without bound", json({ model: { ...model, vocab: { a: 2 ** 40 } } }), {}],
  ["an id that is none", json({}), { added_tokens_decoder: { abc: { content: "<x>" } } }],
  ["an id in the configuration without bound", json({}), { added_tokens_decoder: { 999999999: { content: "<x>" } } }],
  ["an added token of 10 MB", json({ added_tokens: [added(30, "x".repeat(1e7))] }), {}],
  [
    "an added token of 10 MB in the configuration",
    json({}),
    { added_tokens_decoder: { 30: { content: "x".repeat(1e7) } } },
  ],
  ["an expression of 1 MB", json({ pre_tokenizer: split("a|".repeat(5e5)) }), {}],
  ["what is put in front", json({ normalizer: { type: "Prepend", prepend: "x".repeat(1e7) } }), {}],
  [
    "a thousand steps",
    json({ normalizer: { type: "Sequence", normalizers: Array(1000).fill({ type: "Lowercase" }) } }),
    {},
  ],
  ["a template of 1 MB", json({}), { chat_template: "x".repeat(1e6) }],
])("%s is refused in little time", (_, tokenizer, config) => {
  const { error, ms } = timed(() => tokenizerFromJson(tokenizer, config));
  expect(error).toMatchObject({ code: "tokenizer-unsupported" });
  expect(String(error).length).toBeLessThan(2_000);
  expect(ms).toBeLessThan(5_000);
});

test("steps that double a text many times over are stopped", () => {
  const double = { type: "Replace", pattern: { String: "a" }, content: "aa" };
  const tokenizer = tokenizerFromJson(json({ normalizer: { type: "Sequence", normalizers: Array(60).fill(double) } }));
  expect(() => tokenizer.encode("aaaa")).toThrow(/tokenizer-unsupported.*tokenizer\.json/);
});

test("many added tokens that begin alike are found in little time, the longest first", () => {
  const tokens = Array.from({ length: 50_000 }, (_, index) => added(100 + index, `<${index}>`));
  const tokenizer = tokenizerFromJson(json({ added_tokens: [...tokens, added(90, "<"), added(91, "<7>!")] }));
  const { ms } = timed(() => tokenizer.encode("<".repeat(50_000), { special: true }));
  expect(ms).toBeLessThan(5_000);
  expect(Array.from(tokenizer.encode("<7>!<7><49999><", { special: true }))).toEqual([91, 107, 50_099, 90]);
});

const messages = [{ role: "user", content: "hello" }];
const render = (template: string) => renderChat({ template, messages, addGenerationPrompt: true });

test.each([
  ["a long range", "{% for i in range(1000000000000) %}x{% endfor %}"],
  ["a power", "{% for i in range(10 ** 12) %}x{% endfor %}"],
  ["loops in loops", "{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}"],
  ["loops that write", `${"{% for i in range(1000) %}".repeat(4)}x${"{% endfor %}".repeat(4)}`],
  [
    "a text that doubles",
    `{% set ns = namespace(x="ab") %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}`,
  ],
  [
    "a text that doubles with ~",
    `{% set ns = namespace(x="ab") %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}`,
  ],
  [
    "a list that doubles",
    `{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}`,
  ],
  [
    "a list of lists of lists",
    `{% set ns = namespace(x=["lol"]) %}{% for i in range(12) %}{% set ns.x = [ns.x,ns.x,ns.x,ns.x,ns.x,ns.x,ns.x,ns.x,ns.x,ns.x] %}{% endfor %}{{ ns.x | tojson }}`,
  ],
  [
    "the same, as text",
    `{% set ns = namespace(x=["lol"]) %}{% for i in range(12) %}{% set ns.x = [ns.x,ns.x,ns.x,ns.x,ns.x,ns.x,ns.x,ns.x,ns.x,ns.x] %}{% endfor %}{{ ns.x }}`,
  ],
  ["a deep indentation", `{{ messages | tojson(indent=100000000) }}`],
  ["another deep indentation", `{{ "a\nb" | indent(100000000) }}`],
  [
    "a macro that calls itself twice",
    "{% macro f(n) %}{% if n > 0 %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}",
  ],
  ["a template of 1 MB", "x".repeat(1e6)],
  ["lines without end", `${"  \n".repeat(30_000)}{%`],
])("a chat template with %s is stopped", (_, template) => {
  const { error, ms } = timed(() => render(template));
  expect(error).toMatchObject({ code: "template-too-costly" });
  expect(ms).toBeLessThan(60_000);
});

test.each([
  ["a macro without end", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"],
  ["brackets in brackets", `{{ ${"(".repeat(50_000)}1${")".repeat(50_000)} }}`],
  ["tags without end", "{%".repeat(15_000)],
  ["an open text of many lines", `{{ "\n${"x\n".repeat(2_000)}`],
])("a chat template with %s fails in little time", (_, template) => {
  const { error, ms } = timed(() => render(template));
  expect(error).toMatchObject({ code: expect.stringMatching(/^template-(failed|too-costly)$/) });
  expect(ms).toBeLessThan(60_000);
});

test("a long conversation is within the bounds of a template", () => {
  const long = Array.from({ length: 3_000 }, (_, index) => ({
    role: index % 2 ? "assistant" : "user",
    content: "hello",
  }));
  const template =
    "{% for m in messages %}{% if loop.index0 > 0 and messages[loop.index0 - 1].role == m.role %}!{% endif %}{{ m.role }}: {{ m.content | trim }}\n{% endfor %}";
  expect(renderChat({ template, messages: long, addGenerationPrompt: true })).toHaveLength(1_500 * 12 + 1_500 * 17);
});

test("a folder makes nobody read other files, devices or files without end", async () => {
  const place = (name: string) => {
    const path = join(folder, name);
    mkdirSync(path);
    return path;
  };
  writeFileSync(join(folder, "secret.json"), JSON.stringify(json({})));
  const link = place("link");
  symlinkSync(join(folder, "secret.json"), join(link, "tokenizer.json"));
  await expect(loadTokenizer(link)).rejects.toThrow(/bad-model-folder.*tokenizer\.json, which leads to .*secret\.json/);
  const device = place("device");
  symlinkSync("/dev/zero", join(device, "tokenizer.json"));
  await expect(loadTokenizer(device)).rejects.toThrow(/bad-model-folder.*tokenizer\.json/);
  const pipe = place("pipe");
  execFileSync("mkfifo", [join(pipe, "tokenizer.json")]);
  await expect(loadTokenizer(pipe)).rejects.toThrow(/bad-model-folder.*tokenizer\.json: it is no file/);
  const large = place("large");
  writeFileSync(join(large, "tokenizer.json"), "{");
  truncateSync(join(large, "tokenizer.json"), 2 ** 31);
  await expect(loadTokenizer(large)).rejects.toThrow(/bad-model-folder.*tokenizer\.json: it has 2147483648 bytes/);
  const deep = place("deep");
  writeFileSync(join(deep, "tokenizer.json"), `{"a":${"[".repeat(1e6)}${"]".repeat(1e6)}}`);
  await expect(loadTokenizer(deep)).rejects.toThrow(/tokenizer-unreadable.*tokenizer\.json.*nested deeper/);
});

test("the links of Hugging Face's cache are followed", async () => {
  const snapshot = join(folder, "models--a--b/snapshots/0123");
  mkdirSync(snapshot, { recursive: true });
  mkdirSync(join(folder, "models--a--b/blobs"));
  writeFileSync(join(folder, "models--a--b/blobs/cafe"), JSON.stringify(json({})));
  symlinkSync("../../blobs/cafe", join(snapshot, "tokenizer.json"));
  expect((await loadTokenizer(snapshot)).vocabularySize).toBe(28);
});
