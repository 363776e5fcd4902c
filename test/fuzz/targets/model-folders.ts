import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readModelFolder } from "../../../src/engine/model/model-folder.ts";
import { openCheckpoint } from "../../../src/engine/model/safetensors.ts";
import {
  byteTokenizer,
  defaultChatTemplate,
  renderChat,
  tokenizerFromFiles,
  trainBpe,
} from "../../../src/policy/index.ts";
import type { Rng } from "../../../src/random.ts";
import { cut, hostileText, mutatedJson, pick } from "../hostile-text.ts";
import { allowRefusal, check } from "../refusal.ts";
import type { FuzzTarget } from "../target.ts";

interface TokenizerInput {
  readonly files: Readonly<Record<string, string>>;
  readonly text: string;
}

const pairs = trainBpe({ texts: ["the answer is tea", "search for green tea"], vocabularySize: 280 });
const samples = [byteTokenizer().files(), pairs.files()];

/** Downloaded tokenizers: they work, or are refused by name. */
export const tokenizersTarget: FuzzTarget<TokenizerInput> = {
  name: "tokenizers",
  generate(rng) {
    const files = Object.entries(pick(rng, samples)).map(([name, text]): [string, string] => {
      if (!name.endsWith(".json")) return [name, text as string];
      const spoiled = JSON.stringify(mutatedJson(rng, JSON.parse(text as string), 0.004));
      return [name, rng.next() < 0.03 ? cut(rng, spoiled) : spoiled];
    });
    return { files: Object.fromEntries(files), text: hostileText(rng, 3_000) };
  },
  run({ files, text }) {
    const tokenizer = allowRefusal(() => tokenizerFromFiles(files));
    if (tokenizer === undefined) return;
    const ids = allowRefusal(() => tokenizer.encode(text));
    if (ids !== undefined) allowRefusal(() => tokenizer.decode(ids));
  },
};

const pieces = [
  "{% for m in messages %}",
  "{% endfor %}",
  "{% for i in range(10 ** 12) %}",
  "{% for i in range(100000) %}x",
  "{% if tools %}",
  "{% endif %}",
  "{% else %}",
  "{{ m.content }}",
  "{{ messages[0].content }}",
  "{{ 'x' * 10 ** 9 }}",
  "{{ m.content | upper | replace('a', 'b' * 1000) }}",
  "{% set x = 'a' %}",
  "{% set x = x + x %}",
  "{% macro f(n) %}{{ f(n) }}{% endmacro %}",
  "{{ f(1) }}",
  "{{ messages | tojson }}",
  "{{ raise_exception('no') }}",
  "{% set ns = namespace(a=1) %}",
  "{% set ns.a = ns.a * 99999 %}",
  "{{ messages.__class__.__mro__ }}",
  "{{ constructor }}",
  "{{ [1] * 10 ** 8 }}",
  "{{ bos_token }}",
  "{%- generation -%}",
  "{#",
  "#}",
  "{{",
  "}}",
  "{{ m['content'].split('a') | join('b') }}",
  "text",
  "\n",
]; // prettier-ignore

interface TemplateInput {
  readonly template: string;
  readonly content: string;
}

/** Chat templates of downloaded models: rendered, or refused by name, in bounded work. */
export const templatesTarget: FuzzTarget<TemplateInput> = {
  name: "templates",
  generate(rng) {
    return { template: generateTemplate(rng), content: hostileText(rng, 500) };
  },
  run({ template, content }) {
    const messages = [
      { role: "user", content },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ type: "function", function: { name: "search", arguments: { query: content } } }],
      },
      { role: "tool", content },
    ];
    const text = allowRefusal(() => renderChat({ template, messages, addGenerationPrompt: true }));
    check(text === undefined || text.length < 50_000_000, "a rendered chat has a bounded length");
  },
};

function generateTemplate(rng: Rng): string {
  if (rng.next() < 0.5) {
    let template = defaultChatTemplate;
    for (let times = 1 + rng.integer(4); times > 0; times--) {
      template = rng.next() < 0.5 ? cut(rng, template) : template.replace(/\{[{%]/, (mark) => pick(rng, pieces) + mark);
    }
    return template;
  }
  return Array.from({ length: 1 + rng.integer(12) }, () => pick(rng, pieces)).join("");
}

interface FolderInput {
  readonly config: string;
  readonly state: string;
  readonly index: string | null;
  readonly header: string;
  readonly headerLength: number;
  readonly bytes: number;
}

const config = {
  model_type: "qwen2",
  vocab_size: 40,
  hidden_size: 8,
  intermediate_size: 16,
  num_hidden_layers: 1,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  head_dim: 4,
  max_position_embeddings: 64,
  rms_norm_eps: 1e-6,
  rope_theta: 10_000,
  rope_scaling: { rope_type: "linear", factor: 2 },
  tie_word_embeddings: true,
  eos_token_id: 3,
}; // prettier-ignore
const header = {
  __metadata__: { format: "pt" },
  "model.embed_tokens.weight": { dtype: "F32", shape: [40, 8], data_offsets: [0, 1280] },
  "model.norm.weight": { dtype: "F32", shape: [8], data_offsets: [1280, 1312] },
};
const index = {
  metadata: { total_size: 1312 },
  weight_map: { "model.embed_tokens.weight": "model-1.safetensors", "model.norm.weight": "model-1.safetensors" },
};
const state = { sets: [{ name: "policy", version: 1, steps: 3 }], valueHead: false };

/** Downloaded weights: headers that lie, shards outside the folder, absurd sizes. */
export const modelFoldersTarget: FuzzTarget<FolderInput> = {
  name: "model-folders",
  generate(rng) {
    const text = JSON.stringify(mutatedJson(rng, header, 0.06));
    const length = Buffer.byteLength(text);
    return {
      config: JSON.stringify(mutatedJson(rng, config, 0.04)),
      state: JSON.stringify(mutatedJson(rng, state, 0.1)),
      index: rng.next() < 0.4 ? JSON.stringify(mutatedJson(rng, index, 0.1)) : null,
      header: text,
      headerLength:
        rng.next() < 0.8 ? length : pick(rng, [0, 1, length - 1, length + 1, 2 ** 31, 2 ** 40, 2 ** 53 - 1]),
      bytes: rng.next() < 0.8 ? 1312 : rng.integer(3_000),
    };
  },
  run(input) {
    const folder = mkdtempSync(join(tmpdir(), "ludus-fuzz-folder-"));
    try {
      writeFileSync(join(folder, "config.json"), input.config);
      const shard = input.index === null ? "model.safetensors" : "model-1.safetensors";
      if (input.index !== null) writeFileSync(join(folder, "model.safetensors.index.json"), input.index);
      writeFileSync(join(folder, shard), safetensors(input));
      allowRefusal(() => readModelFolder(folder));
      const source = allowRefusal(() => openCheckpoint(folder));
      for (const name of source?.tensors.keys() ?? []) allowRefusal(() => source?.tensor(name));
      source?.close();
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

function safetensors({ header: text, headerLength, bytes }: FolderInput): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(headerLength));
  return Buffer.concat([length, Buffer.from(text), Buffer.alloc(bytes, 1)]);
}
