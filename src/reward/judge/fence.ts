import { createHash } from "node:crypto";

/** A piece of what is judged. Labels are ours; texts are anyone's. */
export interface Section {
  readonly label: string;
  readonly text: string;
}

// control tokens of common chat templates: some servers make tokens of them wherever they stand
const controlTokens =
  /<(?=[|｜])|<(?=\/?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn)>)|<(?=<\/?SYS>>)|\[(?=\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])/gi;

/**
 * The texts between lines that only their author can write: each line has a mark, which is a hash of all the texts, so that a
 * text holding it would have to hold its own hash. Control tokens are broken up by a space. The same texts give the same mark.
 */
export function fence(sections: readonly Section[]): { readonly mark: string; readonly text: string } {
  const plain = sections.map(({ label, text }) => ({ label, text: text.replace(controlTokens, "$& ") }));
  const mark = markOf(plain);
  const text = plain.map(({ label, text }) => `BEGIN ${label} ${mark}\n${text}\nEND ${label} ${mark}`).join("\n");
  return { mark, text };
}

function markOf(sections: readonly Section[]): string {
  for (let attempt = 0; ; attempt++) {
    const hash = createHash("sha256").update(JSON.stringify([attempt, sections]));
    const mark = hash.digest("hex").slice(0, 16);
    if (!sections.some(({ text }) => text.includes(mark))) return mark;
  }
}
