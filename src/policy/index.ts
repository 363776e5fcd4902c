export type { ByteLevelOptions } from "./byte-level-files.ts";
export { byteTokenizer } from "./byte-tokenizer.ts";
export type { CallFormat, Said, SaidCall, WantToSay } from "./call-format.ts";
export { type ChatRendererOptions, chatRenderer } from "./chat-renderer.ts";
export { type ChatMessage, type RenderChatOptions, renderChat } from "./chat-template.ts";
export { type CompactRendererOptions, compactRenderer } from "./compact-renderer.ts";
export { type ControlTokenOptions, defaultMarkupTokens, defaultSpecialTokens } from "./control-tokens.ts";
export { defaultChatTemplate } from "./default-chat-template.ts";
export { type EncodeChatOptions, encodeChat } from "./encode-chat.ts";
export { callFormats } from "./formats/call-formats.ts";
export { compact } from "./formats/compact.ts";
export { type HermesOptions, hermes } from "./formats/hermes.ts";
export { llama } from "./formats/llama.ts";
export { plain } from "./formats/plain.ts";
export { react } from "./formats/react.ts";
export { search } from "./formats/search.ts";
export type { ThoughtOptions } from "./formats/tagged-text.ts";
export { thinkAnswer } from "./formats/think-answer.ts";
export { loadTokenizer, tokenizerFromFiles, tokenizerFromJson } from "./load-tokenizer.ts";
export type { Renderer } from "./renderer.ts";
export type {
  DecodeOptions,
  EncodeOptions,
  SpecialToken,
  SpecialTokenRole,
  SpecialTokens,
  TextRange,
  Tokenizer,
  TokenizerFiles,
} from "./tokenizer.ts";
export { type TrainBpeOptions, trainBpe } from "./train-bpe.ts";
