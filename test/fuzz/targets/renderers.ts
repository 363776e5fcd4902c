import { turnTokens } from "../../../src/policy/guarded-chat.ts";
import type { Renderer, Tokenizer } from "../../../src/policy/index.ts";
import {
  byteTokenizer,
  chatRenderer,
  compactRenderer,
  defaultChatTemplate,
  trainBpe,
} from "../../../src/policy/index.ts";
import type { Message } from "../../../src/schema/message.ts";
import { hostileText, jsonObject, pick } from "../hostile-text.ts";
import { allowRefusal, check } from "../refusal.ts";
import type { FuzzTarget } from "../target.ts";
import { tools } from "./formats.ts";

interface Input {
  readonly renderer: string;
  readonly messages: readonly Message[];
  readonly said: string;
  readonly ended: boolean;
}

type Made = { readonly renderer: Renderer; readonly tokenizer: Tokenizer };

function made(tokenizer: Tokenizer, make: (tokenizer: Tokenizer) => Renderer): Made {
  return { tokenizer, renderer: make(tokenizer) };
}

function makeRenderers(): Readonly<Record<string, Made>> {
  const bytes = byteTokenizer();
  const texts = ["the answer is tea", "search for green tea", '<tool_call>{"name": "search"}</tool_call>'];
  const pairs = trainBpe({ texts, vocabularySize: 300 });
  const chat = (tokenizer: Tokenizer) =>
    chatRenderer({ tokenizer, template: tokenizer.chatTemplate ?? defaultChatTemplate });
  const compact = (tokenizer: Tokenizer) => compactRenderer({ tokenizer, describeTools: true });
  return {
    "chat, bytes": made(bytes, chat),
    "chat, pairs": made(pairs, chat),
    "compact, bytes": made(bytes, compact),
    "compact, pairs": made(pairs, compact),
  };
}

let renderers: Readonly<Record<string, Made>> | undefined;

/** Messages to tokens: no text becomes a control token, and what was said is read again. */
export const renderersTarget: FuzzTarget<Input> = {
  name: "renderers",
  generate(rng) {
    const message = (): Message => {
      const role = pick(rng, ["user", "tool", "system"] as const);
      const named = role === "tool" ? { name: hostileText(rng, 40) } : {};
      return { role, content: hostileText(rng, 8_000), ...named };
    };
    const call = { name: hostileText(rng, 40), arguments: jsonObject(rng, 20) };
    const before: Message[] =
      rng.next() < 0.3 ? [{ role: "assistant", content: hostileText(rng, 200), calls: [call] }] : [];
    return {
      renderer: pick(rng, ["chat, bytes", "chat, pairs", "compact, bytes", "compact, pairs"]),
      messages: [message(), ...before, ...Array.from({ length: rng.integer(3) }, message)],
      said: hostileText(rng, 8_000),
      ended: rng.next() < 0.5,
    };
  },
  run({ renderer: name, messages, said, ended }) {
    renderers ??= makeRenderers();
    const { renderer, tokenizer } = renderers[name];
    const own = renderer.say(said);
    check(renderer.read(own) === said.toWellFormed(), "what is said is read again");
    check(
      own.findIndex((id) => renderer.stopTokens.includes(id)) === own.length - 1,
      "only the end of what is said stops a turn",
    );
    const control = new Set(tokenizer.controlTokens.values());
    const turns = turnTokens(tokenizer);
    const only = (tokens: Int32Array, ids: ReadonlySet<number>) => tokens.filter((id) => ids.has(id)).join();
    // a policy may say its own markers, such as <tool_call>, and instructions may show them; neither may begin a turn
    const calm = (roles: readonly string[]) =>
      messages.map((message) => (roles.includes(message.role) ? { ...message, content: "x" } : message));
    const later = (list: readonly Message[]) => list.filter(({ role }) => role === "user" || role === "tool");
    for (const render of [
      (list: readonly Message[]) => renderer.start(list, tools),
      (list: readonly Message[]) => renderer.next(later(list), { ended }),
    ]) {
      const wild = allowRefusal(() => render(messages));
      if (wild === undefined) continue;
      const read = render(calm(["user", "tool"]));
      check(only(wild, control) === only(read, control), "nothing that is read makes a control token");
      const all = render(calm(["user", "tool", "system"]));
      check(only(wild, turns) === only(all, turns), "no message begins or ends a turn");
    }
  },
};
