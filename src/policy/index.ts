import "../check-node.ts";

export { type ActionBins, type ActionBinsOptions, actionBins, actionTokenizer } from "./action-bins.ts";
export type { ByteLevelOptions } from "./byte-level-files.ts";
export { byteTokenizer } from "./byte-tokenizer.ts";
export type { CallFormat, Said, SaidCall, WantToSay } from "./call-format.ts";
export { type ChatRendererOptions, chatRenderer } from "./chat-renderer.ts";
export { type ChatMessage, type RenderChatOptions, renderChat } from "./chat-template.ts";
export { type CompactRendererOptions, compactRenderer } from "./compact-renderer.ts";
export type { ControlTokenOptions } from "./control-tokens.ts";
export { defaultChatTemplate } from "./default-chat-template.ts";
export { type EncodeChatOptions, encodeChat } from "./encode-chat.ts";
export { callFormats, formats } from "./formats/call-formats.ts";
export type { HermesOptions } from "./formats/hermes.ts";
export type { ThoughtOptions } from "./formats/tagged-text.ts";
export { loadTokenizer, tokenizerFromFiles } from "./load-tokenizer.ts";
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
