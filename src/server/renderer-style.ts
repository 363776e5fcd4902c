import { defined } from "../defined.ts";
import { chatRenderer } from "../policy/chat-renderer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import type { Renderer } from "../policy/renderer.ts";
import type { Tokenizer } from "../policy/tokenizer.ts";
import { bodyOf } from "../policy/trained-template.ts";
import type { RunReader } from "../store/index.ts";

export const rendererStyles = ["compact", "chat"] as const;
export type RendererStyle = (typeof rendererStyles)[number];

/** A chat template opens with a control token, the compact way with words: what was recorded shows which it was. */
export async function recordedStyle(reader: RunReader, tokenizer: Tokenizer): Promise<RendererStyle> {
  const [last] = (await reader.trajectories({}, { limit: 1 })).trajectories;
  if (last === undefined) return "compact";
  const { tokens_T } = (await reader.trajectory(last.key)).trajectory;
  const controls = new Set(tokenizer.controlTokens.values());
  return tokens_T.findIndex((id) => controls.has(id)) === 0 ? "chat" : "compact";
}

export function rendererOf(tokenizer: Tokenizer, style: RendererStyle): Renderer {
  if (style === "compact") return compactRenderer({ tokenizer });
  // whoever calls has put instructions and calls into words: the part of a trained template that does so is left out
  const { chatTemplate } = tokenizer;
  return chatRenderer({ tokenizer, ...defined({ template: chatTemplate && bodyOf(chatTemplate) }) });
}
