import type { Tokenizer } from "../../policy/tokenizer.ts";

/** The text of each token; together they are the text of all. A character made of several tokens stands at the last. */
export function tokenTexts(tokenizer: Tokenizer, tokens: Iterable<number>): string[] {
  const controls = new Set(tokenizer.controlTokens.values());
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const texts: string[] = [];
  for (const id of tokens) {
    const bytes = bytesOf(tokenizer, id);
    const rest = controls.has(id) ? decoder.decode() : "";
    if (rest !== "" && texts.length > 0) texts[texts.length - 1] += rest;
    texts.push(decoder.decode(bytes, { stream: !controls.has(id) }));
  }
  const rest = decoder.decode();
  if (rest !== "" && texts.length > 0) texts[texts.length - 1] += rest;
  return texts;
}

const none = new Uint8Array(0);

/** A model may have more tokens than its tokenizer knows, and a run another tokenizer than its last checkpoint. */
function bytesOf(tokenizer: Tokenizer, id: number): Uint8Array {
  return id >= 0 && id < tokenizer.vocabularySize ? tokenizer.tokenBytes(id) : none;
}
