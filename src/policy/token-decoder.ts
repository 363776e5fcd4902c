import { fromByteCharacters, fromUtf8, utf8 } from "./byte-level.ts";
import { checkGrowth } from "./normalize.ts";
import { compilePattern, replaceMatches } from "./split-text.ts";
import type { DecoderStep } from "./tokenizer-json.ts";

/** Token strings, as they are in the vocabulary, back to text and bytes. */
export interface TokenDecoder {
  text(tokens: readonly string[]): string;
  /** What one token adds to a text that has already begun. */
  bytes(token: string): Uint8Array;
}

type Chain = (tokens: readonly string[]) => readonly string[];

/** The decoder of a tokenizer.json, step by step as the Rust one does it. The package's differs in five places (README). */
export function tokenDecoder(steps: readonly DecoderStep[] | undefined): TokenDecoder {
  if (steps === undefined) return { text: (tokens) => tokens.join(" "), bytes: utf8 };
  const chain = chainOf(steps);
  if (steps.some((step) => step.type === "ByteLevel")) {
    return { text: (tokens) => chain(tokens).join(""), bytes: fromByteCharacters };
  }
  const hasByteTokens = steps.some((step) => step.type === "ByteFallback");
  const perToken = chainOf(steps.filter((step) => !["ByteFallback", "Fuse", "Strip"].includes(step.type)));
  return {
    text: (tokens) => chain(tokens).join(""),
    bytes: (token) => {
      const byte = hasByteTokens ? byteOf(token) : undefined;
      return byte === undefined ? utf8(perToken(["", token]).at(-1)!) : Uint8Array.of(byte);
    },
  };
}

/** The spaces before English punctuation that WordPiece models leave, taken out as transformers does it. */
export function cleanUpSpaces(text: string): string {
  return text
    .replace(/ ([.?!,])/g, "$1")
    .replaceAll(" ' ", "'")
    .replace(/ (n't|'m|'s|'ve|'re)/g, "$1");
}

function chainOf(steps: readonly DecoderStep[]): Chain {
  const functions = steps.map(decoderStep);
  return (tokens) => functions.reduce((current, step) => checkGrown(step(current), tokens), tokens);
}

function checkGrown(grown: readonly string[], tokens: readonly string[]): readonly string[] {
  const size = (texts: readonly string[]) => ({ length: texts.reduce((sum, text) => sum + text.length, 0) });
  checkGrowth(size(grown), size(tokens));
  return grown;
}

function decoderStep(step: DecoderStep): Chain {
  switch (step.type) {
    case "ByteLevel":
      return (tokens) => [fromUtf8(concatenate(tokens.map(fromByteCharacters)))];
    case "ByteFallback":
      return byteFallback;
    case "Fuse":
      return (tokens) => [tokens.join("")];
    case "Replace": {
      const pattern = compilePattern(step.pattern);
      return (tokens) => tokens.map((token) => replaceMatches(token, pattern, step.content));
    }
    case "Strip":
      return (tokens) => tokens.map((token) => strip(token, step));
    case "Metaspace":
      return (tokens) =>
        tokens.map((token, index) => {
          const space = index === 0 && step.prepend_scheme !== "never" ? "" : " ";
          return token.replaceAll(step.replacement, space);
        });
    case "WordPiece":
      return (tokens) => tokens.map((token, index) => wordPiece(token, index, step));
    case "BPEDecoder":
      return (tokens) =>
        tokens.map((token, index) => token.replaceAll(step.suffix, index === tokens.length - 1 ? "" : " "));
    default:
      return step satisfies never;
  }
}

function byteOf(token: string): number | undefined {
  const match = /^<0x([0-9a-fA-F]{2})>$/.exec(token);
  return match === null ? undefined : Number.parseInt(match[1], 16);
}

function byteFallback(tokens: readonly string[]): string[] {
  const texts: string[] = [];
  let bytes: number[] = [];
  const flush = () => {
    if (bytes.length === 0) return;
    const text = fromUtf8(Uint8Array.from(bytes));
    // Rust gives up on the whole run: one U+FFFD for every byte, not one for every wrong stretch
    const isValid = utf8(text).length === bytes.length && utf8(text).every((byte, index) => byte === bytes[index]);
    texts.push(isValid ? text : "\ufffd".repeat(bytes.length));
    bytes = [];
  };
  for (const token of tokens) {
    const byte = byteOf(token);
    if (byte !== undefined) {
      bytes.push(byte);
      continue;
    }
    flush();
    texts.push(token);
  }
  flush();
  return texts;
}

function strip(token: string, step: Extract<DecoderStep, { type: "Strip" }>): string {
  let text = token;
  for (let count = 0; count < step.start && text.startsWith(step.content); count++)
    text = text.slice(step.content.length);
  for (let count = 0; count < step.stop && text.endsWith(step.content); count++)
    text = text.slice(0, -step.content.length);
  return text;
}

function wordPiece(token: string, index: number, step: Extract<DecoderStep, { type: "WordPiece" }>): string {
  const isContinued = index > 0 && token.startsWith(step.prefix);
  const text = isContinued ? token.slice(step.prefix.length) : index > 0 ? ` ${token}` : token;
  return step.cleanup ? cleanUpSpaces(text).replaceAll(" do not", " don't") : text;
}

/** All parts, one after the other. */
export function concatenate(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    // mostly of a few bytes, which are copied before `set` has looked at its arguments
    for (let i = 0; i < part.length; i++) whole[at + i] = part[i];
    at += part.length;
  }
  return whole;
}
