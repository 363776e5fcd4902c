import type { ToolCall } from "../../schema/message.ts";
import type { Told } from "./chat-turn.ts";

/** Where a stream goes: parts of the text, and whole calls, in the order in which they became known. */
export interface Listener {
  text(part: string): Promise<void>;
  call(call: ToolCall, index: number): Promise<void>;
}

/** Is told everything again and again, and tells only what is new. */
export class Teller {
  readonly #listener: Listener;
  #text = 0;
  #calls = 0;

  constructor(listener: Listener) {
    this.#listener = listener;
  }

  readonly hear = async ({ content, calls }: Told): Promise<void> => {
    if (content.length > this.#text) {
      const part = content.slice(this.#text);
      this.#text = content.length;
      await this.#listener.text(part);
    }
    while (this.#calls < calls.length) {
      const index = this.#calls++;
      await this.#listener.call(calls[index], index);
    }
  };
}
