import type { CallFormat } from "../call-format.ts";
import { compact } from "./compact.ts";
import { hermes } from "./hermes.ts";
import { llama } from "./llama.ts";
import { plain } from "./plain.ts";
import { react } from "./react.ts";
import { search } from "./search.ts";
import { thinkAnswer } from "./think-answer.ts";

/** The formats of tool calls: `formats.hermes()`, `formats.compact()`. */
export const formats = { plain, hermes, react, thinkAnswer, llama, search, compact } as const;

/** The formats that the command line knows, by name. */
export const callFormats = {
  plain: () => plain(),
  hermes: () => hermes(),
  react: () => react(),
  "think-answer": () => thinkAnswer(),
  llama: () => llama(),
  search: () => search(),
  compact: () => compact(),
} satisfies Record<string, () => CallFormat>;
