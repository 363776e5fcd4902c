import type { CallFormat } from "../call-format.ts";
import { checkWritten, makeSaid } from "./said.ts";

/** No tags and no calls: the whole text is the answer. */
export function plain(): CallFormat {
  const format: CallFormat = {
    name: "plain",
    stopStrings: [],
    describe: () => "",
    parse: (text) => makeSaid("", [], text, true),
    write: (want) =>
      checkWritten(format, (want.answer ?? "").trim(), want, { canSay: "an answer, no thought and no call" }),
  };
  return format;
}
