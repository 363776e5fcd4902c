import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { fakeEngine } from "../engine/fake-engine.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import type { CallFormat } from "../policy/call-format.ts";
import { chatRenderer } from "../policy/chat-renderer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { callFormats, formats } from "../policy/formats/call-formats.ts";
import { openRun } from "../store/index.ts";
import { loadServedModel } from "./load-served-model.ts";
import { promptOf } from "./model/answer-turn.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-load-"));
afterAll(() => rmSync(folder, { recursive: true }));
const tokenizer = byteTokenizer();
const renderers = { compact: compactRenderer({ tokenizer }), chat: chatRenderer({ tokenizer }) };
const engine = async () => fakeEngine({ vocabularySize: tokenizer.vocabularySize, distribution: () => [] });
const tool = { name: "search", description: "Finds", parameters: { type: "object", properties: {} } };
const turn = {
  messages: [{ role: "user" as const, content: "tea?" }],
  tools: [tool],
  choice: "auto" as const,
  oneCall: false,
  sampling: { temperature: 0, seed: 0, stop: [], alternatives: 0 },
};

/** A folder as it is saved; the chat template is that of the training. */
function modelFolder(directory: string, template?: string): string {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "config.json"), "{}");
  for (const [name, content] of Object.entries(tokenizer.files())) writeFileSync(join(directory, name), content);
  if (template !== undefined) writeFileSync(join(directory, "chat_template.jinja"), template);
  return directory;
}

const trained: CallFormat[] = [
  ...Object.values(callFormats).map((make) => make()),
  formats.hermes({ describeTools: true }),
];
const cases = (["compact", "chat"] as const).flatMap((style) =>
  trained.map((format, i) => [style, i, format] as const),
);

test.each(cases)("a %s folder of format %i reads and writes as it was trained", async (style, i, format) => {
  const renderer = renderers[style];
  const path = modelFolder(join(folder, `${style}-${i}`), renderer.chatTemplate!(format));
  const model = await loadServedModel(path, { engine });
  expect(model.format.name).toBe(format.name);
  expect(model.format.describe([tool])).toBe(format.describe([tool]));
  expect(promptOf(model, turn)).toEqual(promptOf({ ...model, renderer, format }, turn));
});

test("a checkpoint of a run without such a template writes what the run's configuration says", async () => {
  const run = join(folder, "run");
  const checkpoint = modelFolder(join(run, "checkpoints", "step-000000"));
  const store = await openRun(run, { now: () => 0 });
  await store.append(0, { config: { env: { format: "react" } } });
  await store.close();
  for (const path of [run, checkpoint]) expect((await loadServedModel(path, { engine })).format.name).toBe("react");
  expect((await loadServedModel(run, { engine, format: formats.llama() })).format.name).toBe("llama");
});

test("a folder of another program writes hermes, and a format that is not known is named", async () => {
  expect((await loadServedModel(modelFolder(join(folder, "other")), { engine })).format.name).toBe("hermes");
  const own = { ...formats.react(), name: "my-format" };
  const path = modelFolder(join(folder, "own"), renderers.compact.chatTemplate!(own));
  await expect(loadServedModel(path, { engine })).rejects.toThrow(/unknown-format.*my-format.*--format/s);
  expect((await loadServedModel(path, { engine, format: own })).format).toBe(own);
});
