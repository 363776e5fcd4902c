export type { ByteLevelOptions } from "./byte-level-files.ts";
export { byteTokenizer } from "./byte-tokenizer.ts";
export { type ChatMessage, type RenderChatOptions, renderChat } from "./chat-template.ts";
export { type ControlTokenOptions, defaultMarkupTokens, defaultSpecialTokens } from "./control-tokens.ts";
export { defaultChatTemplate } from "./default-chat-template.ts";
export { type EncodeChatOptions, encodeChat } from "./encode-chat.ts";
export { loadTokenizer, tokenizerFromFiles, tokenizerFromJson } from "./load-tokenizer.ts";
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
