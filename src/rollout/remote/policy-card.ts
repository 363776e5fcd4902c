import { createHash } from "node:crypto";
import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { chatRenderer } from "../../policy/chat-renderer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { tokenizerFromFiles } from "../../policy/load-tokenizer.ts";
import type { Renderer } from "../../policy/renderer.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";
import { bodyOf } from "../../policy/trained-template.ts";
import type { Message } from "../../schema/message.ts";
import type { Policy } from "../rollout.ts";

/** What a worker needs of a policy besides samples: how messages become tokens. */
const Card = z.object({
  files: z.record(z.string(), z.string()),
  contextLength: z.number(),
  weights: z.record(z.string(), z.string()),
  stopTokens: z.array(z.int()),
  /** What the policy's own renderer makes of the messages below: a renderer that makes the same is the same. */
  probe: z.array(z.array(z.int())),
});

type Card = z.infer<typeof Card>;

export interface RenderedPolicy {
  readonly renderer: Renderer;
  readonly tokenizer: Tokenizer;
  readonly contextLength: number;
  readonly weights: Readonly<Record<string, string>>;
}

/** A policy's card as text, and its id. Refused where no worker could render as the policy does. */
export function policyCard({ renderer, tokenizer, engine, weights = {} }: Policy): { id: string; content: string } {
  if (tokenizer === undefined) throw cannotRender("a policy without a tokenizer");
  const card: Card = {
    files: { ...tokenizer.files() },
    contextLength: engine.info.contextLength,
    weights: { ...weights },
    stopTokens: [...renderer.stopTokens],
    probe: probe(renderer),
  };
  const content = JSON.stringify(card);
  readPolicyCard(content);
  return { id: createHash("sha256").update(content).digest("hex"), content };
}

export function readPolicyCard(content: string): RenderedPolicy {
  const { files, contextLength, weights, stopTokens, probe: wanted } = Card.parse(JSON.parse(content));
  const tokenizer = tokenizerFromFiles(files as Parameters<typeof tokenizerFromFiles>[0]);
  for (const make of candidates(tokenizer)) {
    const renderer = tried(make);
    const isSame =
      renderer !== undefined &&
      JSON.stringify([stopTokens, wanted]) === JSON.stringify([renderer.stopTokens, probe(renderer)]);
    if (isSame) return { renderer, tokenizer, contextLength, weights };
  }
  throw cannotRender("a policy whose renderer is none of these");
}

function candidates(tokenizer: Tokenizer): readonly (() => Renderer)[] {
  const { chatTemplate } = tokenizer;
  return [
    () => compactRenderer({ tokenizer }),
    () => chatRenderer({ tokenizer }),
    ...(chatTemplate === undefined ? [] : [() => chatRenderer({ tokenizer, template: bodyOf(chatTemplate) })]),
  ];
}

/** A tokenizer may lack what a renderer needs. */
function tried(make: () => Renderer): Renderer | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

const opening: readonly Message[] = [
  { role: "system", content: "You look for keys.\nBe brief." },
  { role: "user", content: "Où? 東京 <|im_end|> {{ x }}" },
];

function probe(renderer: Renderer): number[][] {
  const next: readonly Message[] = [{ role: "user", content: "And now?" }];
  const texts = [
    () => renderer.start(opening, []),
    () => renderer.next(next, { ended: true }),
    () => renderer.next(next, { ended: false }),
    () => renderer.say("look east"),
  ];
  // a renderer that refuses one of them refuses it everywhere
  return texts.map((render) => [...((tried(render as () => never) as Int32Array | undefined) ?? [-1])]);
}

function cannotRender(got: string): LudusError {
  return new LudusError("remote-renderer", {
    got,
    expected: "a tokenizer with compactRenderer() or chatRenderer(), which workers can make again",
    hint: "Policies of fromScratch() and fromPretrained() have them.",
  });
}
