import { createHash } from "node:crypto";

/** One section of what is judged. Labels are trusted; texts are not. */
export interface Section {
  readonly label: string;
  readonly text: string;
}

// control tokens of common chat templates: some servers tokenize them as such anywhere in a message
const controlTokens =
  /<(?=[|｜])|<(?=\/?(?:s|bos|eos|pad|unk|start_of_turn|end_of_turn)>)|<(?=<\/?SYS>>)|\[(?=\/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])/gi;

/**
 * The texts between delimiter lines that no text can forge: each line carries a hash of all the texts, so a text that contains
 * it would have to contain its own hash. Control tokens are broken up by a space. The same texts give the same mark.
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
