import { createInterface } from "node:readline";
import { defined } from "../defined.ts";
import type { Terminal } from "./command.ts";

export interface Lines {
  /** The next line, or nothing when the input has ended: Ctrl-D, Ctrl-C, the end of a pipe. */
  next(): Promise<string | undefined>;
  close(): void;
}

/** Lines of a person or of a pipe. A line that ends in `\` goes on in the next. */
export function readLines({ stdin, stdout }: Terminal): Lines {
  if (stdin === undefined) return { next: async () => undefined, close: () => {} };
  const isTerminal = stdin.isTTY === true;
  const reader = createInterface({
    input: stdin,
    terminal: isTerminal,
    prompt: "> ",
    // a terminal's is a stream
    ...defined({ output: isTerminal ? (stdout as NodeJS.WritableStream) : undefined }),
  });
  const lines = reader[Symbol.asyncIterator]();
  const nextLine = async () => {
    if (isTerminal) reader.prompt();
    const { value, done } = await lines.next();
    if (!done && !isTerminal) stdout.write(`> ${value}\n`);
    return done ? undefined : value;
  };
  return {
    async next() {
      let text = "";
      for (;;) {
        const line = await nextLine();
        if (line === undefined) return undefined;
        if (!line.endsWith("\\")) return text + line;
        text += `${line.slice(0, -1)}\n`;
      }
    },
    close: () => reader.close(),
  };
}
