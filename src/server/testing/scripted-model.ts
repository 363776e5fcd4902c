import { type FakeEngine, type FakeEngineOptions, fakeEngine } from "../../engine/fake-engine.ts";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { hermes } from "../../policy/formats/hermes.ts";
import type { ServedModel } from "../model/served-model.ts";

const opening = "<|im_start|>";

/** A model that says what a script answers to what it reads, byte by byte and fairly sure; at temperature 0 always. */
export function scriptedModel(
  script: (read: string) => string,
  options: Pick<FakeEngineOptions, "contextLength" | "beforeSample"> = {},
): ServedModel & { engine: FakeEngine } {
  const tokenizer = byteTokenizer();
  const end = tokenizer.specialTokens.eos!.id;
  const open = tokenizer.controlTokens.get(opening)!;
  const tokenBytes = Array.from({ length: tokenizer.vocabularySize }, (_, id) => tokenizer.tokenBytes(id));
  const distribution = (tokens: readonly number[]) => {
    const start = tokens.lastIndexOf(open);
    const reply = new TextEncoder().encode(script(tokenizer.decode(tokens.slice(0, start), { special: true })));
    // in bytes: what it was made to begin with may be other tokens
    const said = tokens.slice(start + 1).reduce((sum, id) => sum + tokenBytes[id].length, 0);
    const next = reply[said] ?? end;
    return Array.from({ length: tokenizer.vocabularySize }, (_, id) => (id === next ? 0.75 : id === 33 ? 0.25 : 0));
  };
  const engine = fakeEngine({ ...options, vocabularySize: tokenizer.vocabularySize, distribution, tokenBytes });
  return {
    name: "tiny",
    engine,
    tokenizer,
    renderer: compactRenderer({ tokenizer }),
    format: hermes({ describeTools: true }),
  };
}
