import { isDeepStrictEqual } from "node:util";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import type { ToolSpec } from "../../schema/message.ts";
import type { CallFormat, Said, SaidCall, WantToSay } from "../call-format.ts";

/** An empty thought is no thought, and a turn with an unreadable call has not kept to its format. */
export function makeSaid(thought: string, calls: readonly SaidCall[], answer: string, isWellFormed: boolean): Said {
  return {
    ...defined({ thought: thought.trim() === "" ? undefined : thought.trim() }),
    calls,
    answer: answer.trim(),
    isWellFormed: isWellFormed && calls.every((call) => call.kind === "call"),
  };
}

/** Checks the result of every `write`: text that `parse` would read differently is refused, never silently changed. */
export function checkWritten(
  format: Pick<CallFormat, "name" | "parse">,
  text: string,
  want: WantToSay,
  { tools, canSay }: { tools?: readonly ToolSpec[] | undefined; canSay: string },
): string {
  const calls = (want.calls ?? []).map((call): SaidCall => {
    // undefined arguments are dropped, as JSON drops them
    return { kind: "call", name: call.name, arguments: JSON.parse(JSON.stringify(call.arguments)) };
  });
  const meant = makeSaid(want.thought ?? "", calls, want.answer ?? "", true);
  if (isDeepStrictEqual(format.parse(text, tools), meant)) return text;
  throw new LudusError("unwritable", {
    got: JSON.stringify(want).slice(0, 300),
    expected: `what the format "${format.name}" can say: ${canSay}`,
    hint: "Choose another format, or say it otherwise.",
  });
}
