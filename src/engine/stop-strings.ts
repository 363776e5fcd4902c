/** Finds stop strings in a growing sequence of tokens, also where they cross token borders. Works on bytes. */
export class StopStringMatcher {
  readonly #needles: readonly Buffer[];
  readonly #tokenBytes: (token: number) => Uint8Array;
  readonly #keep: number;
  #tail: Buffer = Buffer.alloc(0);

  constructor(strings: readonly string[], tokenBytes: (token: number) => Uint8Array) {
    this.#needles = strings.map((text) => Buffer.from(text));
    this.#tokenBytes = tokenBytes;
    this.#keep = Math.max(0, ...this.#needles.map((needle) => needle.length - 1));
  }

  /** Takes the next token; true when it completes a stop string. */
  push(token: number): boolean {
    const text = Buffer.concat([this.#tail, this.#tokenBytes(token)]);
    this.#tail = text.subarray(Math.max(0, text.length - this.#keep));
    return this.#needles.some((needle) => text.includes(needle));
  }
}
