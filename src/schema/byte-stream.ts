/** Thrown inside a decoder; whoever decodes says what the bytes were to be. */
export class BytesExhausted extends Error {}

/** Appends bytes and numbers. Whole numbers are varints: seven bits a byte, lowest first, so small ones take one byte. */
export class ByteWriter {
  #bytes = new Uint8Array(1024);
  #length = 0;

  /** 0 <= value < 2^32 */
  varint(value: number): void {
    this.#reserve(maxVarintBytes);
    this.#length = putVarint(this.#bytes, this.#length, value);
  }

  /** Each as the 32 bits that it is. */
  varints(values: Int32Array): void {
    this.#reserve(maxVarintBytes * values.length);
    const bytes = this.#bytes;
    let at = this.#length;
    for (let i = 0; i < values.length; i++) at = putVarint(bytes, at, values[i] >>> 0);
    this.#length = at;
  }

  write(bytes: Uint8Array): void {
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  written(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(2 * this.#bytes.length, this.#length + count));
    grown.set(this.written());
    this.#bytes = grown;
  }
}

const maxVarintBytes = 5;

/** Returns where the next one begins. */
function putVarint(bytes: Uint8Array, start: number, value: number): number {
  let [at, rest] = [start, value];
  while (rest > 0x7f) {
    bytes[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  bytes[at++] = rest;
  return at;
}

/** Reads what a `ByteWriter` wrote, in the same order. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #position = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get remaining(): number {
    return this.#bytes.length - this.#position;
  }

  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      if (this.remaining === 0) throw new BytesExhausted("a number is cut off");
      const byte = this.#bytes[this.#position++];
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new BytesExhausted("a number has no end");
  }

  read(count: number): Uint8Array {
    if (count > this.remaining) throw new BytesExhausted(`${count} bytes wanted, ${this.remaining} left`);
    this.#position += count;
    return this.#bytes.subarray(this.#position - count, this.#position);
  }
}
