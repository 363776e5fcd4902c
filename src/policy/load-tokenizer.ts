import { readdir } from "node:fs/promises";
import { defined } from "../defined.ts";
import { errorText, LudusError } from "../errors.ts";
import { parseModelJson, readModelText } from "../model-file.ts";
import { addedTokenSplitter, isControlToken } from "./added-tokens.ts";
import { fromUtf8, utf8 } from "./byte-level.ts";
import { normalizer } from "./normalize.ts";
import { preTokenizer } from "./pre-tokenize.ts";
import { cleanUpSpaces, concatenate, tokenDecoder } from "./token-decoder.ts";
import type { DecodeOptions, EncodeOptions, Tokenizer, TokenizerFiles } from "./tokenizer.ts";
import { parseTokenizerConfig } from "./tokenizer-config.ts";
import { parseTokenizerJson } from "./tokenizer-json.ts";
import { vocabularyOf, wordModel } from "./word-model.ts";

const fileNames = ["tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"];

/** Reads the tokenizer of a Hugging Face model folder. */
export async function loadTokenizer(directory: string): Promise<Tokenizer> {
  const present = await readdir(directory).catch((cause: unknown) => {
    throw new LudusError("tokenizer-missing", { got: `"${directory}"`, expected: "a folder that can be read", cause });
  });
  if (!present.includes("tokenizer.json")) {
    throw new LudusError("tokenizer-missing", {
      got: `"${directory}" with ${present.length === 0 ? "no files" : present.slice(0, 12).join(", ")}`,
      expected: "a tokenizer.json in it",
      hint: "In Python, AutoTokenizer.from_pretrained(folder).save_pretrained(folder) writes one.",
    });
  }
  const names = fileNames.filter((name) => present.includes(name));
  const contents = names.map((name) => readModelText(directory, name));
  return tokenizerFromFiles(Object.fromEntries(names.map((name, index) => [name, contents[index]])));
}

/** The tokenizer whose `files()` these are. Plain strings, so they can be sent to a worker thread. */
export function tokenizerFromFiles(files: TokenizerFiles): Tokenizer {
  const template = files["chat_template.jinja"];
  const config = {
    ...parseObject(files, "special_tokens_map.json"),
    ...parseObject(files, "tokenizer_config.json"),
    ...defined({ chat_template: template }),
  };
  return { ...tokenizerFromJson(parseObject(files, "tokenizer.json"), config), files: () => files };
}

/** The tokenizer of a parsed tokenizer.json and tokenizer_config.json. */
export function tokenizerFromJson(json: unknown, config: unknown = {}): Tokenizer {
  const pipeline = parseTokenizerJson(json);
  const { addedTokens, specialTokens, chatTemplate, ...settings } = parseTokenizerConfig(config, pipeline);
  const normalize = normalizer(pipeline.normalizer);
  const split = addedTokenSplitter(addedTokens, normalize);
  const preTokenize = preTokenizer(pipeline.preTokenizer);
  const controlTokens = new Map(addedTokens.filter(isControlToken).map((token) => [token.content, token.id]));
  // one character is also a letter of the alphabet, which ordinary text must be able to use
  const tokensOf = wordModel(pipeline.model, new Set([...controlTokens.keys()].filter((text) => [...text].length > 1)));
  const decoder = tokenDecoder(pipeline.decoder);
  const isByteLevel = pipeline.decoder?.length === 1 && pipeline.decoder[0]?.type === "ByteLevel";
  const tidy = settings.cleanUpSpaces && pipeline.model.type !== "BPE" ? cleanUpSpaces : (text: string) => text;

  const tokens: (string | undefined)[] = [];
  for (const [token, id] of vocabularyOf(pipeline.model)) tokens[id] = token;
  const addedIds = new Set(addedTokens.map((token) => token.id));
  for (const token of addedTokens) tokens[token.id] = token.content;
  const specialIds = new Set(addedTokens.filter((token) => token.special).map((token) => token.id));
  for (const token of Object.values(specialTokens)) specialIds.add(token.id);

  const bytesOf = new Map<number, Uint8Array>();
  function tokenBytes(id: number): Uint8Array {
    const cached = bytesOf.get(id);
    if (cached !== undefined) return cached;
    const token = tokens[checkedId(id)] ?? "";
    const bytes = addedIds.has(id) ? utf8(token) : decoder.bytes(token);
    bytesOf.set(id, bytes);
    return bytes;
  }

  return {
    vocabularySize: tokens.length,
    specialTokens,
    controlTokens,
    ...defined({ chatTemplate }),
    encode(text: string, options: EncodeOptions = {}) {
      const ids: number[] = [];
      for (const section of split(text.toWellFormed(), options)) {
        if ("token" in section) ids.push(section.token);
        else
          for (const word of preTokenize(section.text, section.isStart)) for (const id of tokensOf(word)) ids.push(id);
      }
      return Int32Array.from(ids);
    },
    decode(ids: readonly number[] | Int32Array, { special = false }: DecodeOptions = {}) {
      const shown: number[] = [];
      for (const id of ids) {
        if (tokens[checkedId(id)] !== undefined && (special || !specialIds.has(id))) shown.push(id);
      }
      if (isByteLevel) return fromUtf8(concatenate(shown.map(tokenBytes)));
      return tidy(decoder.text(shown.map((id) => tokens[id]!)));
    },
    tokenBytes,
    files: () => ({ "tokenizer.json": JSON.stringify(json), "tokenizer_config.json": JSON.stringify(config, null, 2) }),
  };
}

/** Refuses what is no token id at all; ids beyond the vocabulary can be sampled, and decode to nothing. */
export function checkedId(id: number): number {
  if (Number.isInteger(id) && id >= 0) return id;
  throw new LudusError("token-out-of-range", { got: `token ${id}`, expected: "an integer of at least 0" });
}

function parseObject(files: TokenizerFiles, name: string): Record<string, unknown> {
  const text = files[name];
  if (text === undefined) return {};
  try {
    const value = parseModelJson(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
    throw new TypeError(`it holds ${Array.isArray(value) ? "an array" : String(value)}`);
  } catch (cause) {
    throw new LudusError("tokenizer-unreadable", {
      got: `${name}: ${errorText(cause).slice(0, 500)}`,
      expected: "a JSON object",
      hint: 'Was it downloaded whole? A Git LFS pointer starts with "version https://git-lfs".',
      cause,
    });
  }
}
