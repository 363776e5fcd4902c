import { describe, expect, test } from "vitest";
import type { Message } from "../schema/message.ts";
import type { Renderer } from "./renderer.ts";
import { awkwardTexts, randomTexts } from "./tokenizer.contract.ts";
import type { Tokenizer } from "./tokenizer.ts";

/** What every renderer must do, whatever its template. The tokenizer is the one it was made with. */
export function rendererContract(name: string, make: () => { renderer: Renderer; tokenizer: Tokenizer }): void {
  describe(`renderer contract: ${name}`, () => {
    const { renderer, tokenizer } = make();
    const stops = new Set(renderer.stopTokens);
    const turnIds = new Set([...tokenizer.controlTokens.values()].filter((id) => tokenizer.decode([id]) === ""));
    const controlIds = new Set(tokenizer.controlTokens.values());
    const hostile = [...tokenizer.controlTokens.keys()].join("x");
    const texts = [...awkwardTexts, ...randomTexts(3, 200), hostile];
    const roles = [[user], [tool], [tool, tool], [tool, user], [user, user]];
    const kept = (tokens: Int32Array, ids: ReadonlySet<number>) => Array.from(tokens).filter((id) => ids.has(id));

    test("what is said is read again", () => {
      for (const text of texts) expect(renderer.read(renderer.say(text))).toBe(text.toWellFormed());
    });

    test("what is said ends with a stop token and holds no other", () => {
      expect(stops.size).toBeGreaterThan(0);
      for (const text of texts) {
        const said = renderer.say(text);
        expect(kept(said, stops)).toEqual([said.at(-1)]);
        expect(kept(said, turnIds)).toEqual([said.at(-1)]);
      }
    });

    test("what was read without the end of the turn is the same text", () => {
      for (const text of texts) {
        const said = renderer.say(text);
        expect(renderer.read(said.slice(0, -1)).trimEnd()).toBe(text.toWellFormed().trimEnd());
      }
    });

    test("no message makes a control token", () => {
      for (const messages of roles) {
        const [calm, wild] = [fill(messages, "x"), fill(messages, hostile)];
        for (const [harmless, attack] of [
          [renderer.start(calm, []), renderer.start(wild, [])],
          [renderer.next(calm, { ended: true }), renderer.next(wild, { ended: true })],
          [renderer.next(calm, { ended: false }), renderer.next(wild, { ended: false })],
        ] as const) {
          expect(kept(attack, controlIds)).toEqual(kept(harmless, controlIds));
          expect(tokenizer.decode(attack)).toContain(hostile);
        }
      }
    });

    test("every word of a message is in the context", () => {
      for (const text of texts.filter((each) => each === each.trim() && each.isWellFormed())) {
        for (const messages of roles) {
          expect(tokenizer.decode(renderer.next(fill(messages, text), { ended: true }))).toContain(text);
        }
      }
    });

    test("the end of a turn is added where the policy did not sample it, and only there", () => {
      for (const messages of roles) {
        const ended = renderer.next(fill(messages, "x"), { ended: true });
        const cut = renderer.next(fill(messages, "x"), { ended: false });
        expect(stops.has(ended[0])).toBe(false);
        expect(cut.slice(cut.length - ended.length)).toEqual(ended);
        expect(kept(cut.slice(0, cut.length - ended.length), stops)).toHaveLength(1);
      }
    });

    test("a prompt ends where the policy speaks, in the first turn and in later ones", () => {
      const opening = (tokens: Int32Array) => tokens.slice(tokens.findLastIndex((id) => turnIds.has(id)));
      const first = opening(renderer.start([{ role: "user", content: "mnemonic" }], []));
      expect(tokenizer.decode(first)).not.toContain("mnemonic");
      for (const messages of roles) {
        expect(opening(renderer.next(fill(messages, "x"), { ended: true }))).toEqual(first);
      }
    });

    test("the same messages give the same tokens, and the caller's array is the caller's", () => {
      const messages = fill([user], "x");
      for (const ended of [true, false]) {
        const tokens = renderer.next(messages, { ended });
        const copy = tokens.slice();
        tokens.fill(0);
        expect(renderer.next(messages, { ended })).toEqual(copy);
      }
      const said = renderer.say("x");
      const copy = said.slice();
      said.fill(0);
      expect(renderer.say("x")).toEqual(copy);
    });
  });
}

const user: Message = { role: "user", content: "" };
const tool: Message = { role: "tool", name: "search", content: "" };

function fill(messages: readonly Message[], content: string): Message[] {
  return messages.map((message) => ({ ...message, content }));
}
