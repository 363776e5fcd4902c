const encoder = new TextEncoder();
// a byte order mark is text like any other: dropping it would lose a character
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** UTF-8, lone surrogates as U+FFFD. */
export function utf8(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Bytes that are no UTF-8 become U+FFFD, one for each longest wrong stretch, as Rust and browsers do it. */
export function fromUtf8(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/**
 * GPT-2's alphabet: every byte as one printable character, so that a vocabulary of bytes can be written as JSON. Printable
 * Latin-1 stands for itself, the other 68 bytes are U+0100 and on, in order.
 */
export const byteCharacters: readonly string[] = makeByteCharacters();

const byteOfCharacter: ReadonlyMap<string, number> = new Map(
  byteCharacters.map((character, byte) => [character, byte]),
);

function makeByteCharacters(): string[] {
  const isPrintable = (byte: number) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad);
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : next++));
}

/** Text in the byte alphabet: `" é"` becomes `"ĠÃ©"`. */
export function toByteCharacters(text: string): string {
  let characters = "";
  for (const byte of utf8(text)) characters += byteCharacters[byte];
  return characters;
}

/** The bytes of a token written in the byte alphabet; one that is not written in it stands for its own text. */
export function fromByteCharacters(token: string): Uint8Array {
  const bytes = new Uint8Array(token.length);
  for (let index = 0; index < token.length; index++) {
    const byte = byteOfCharacter.get(token[index]);
    if (byte === undefined) return utf8(token);
    bytes[index] = byte;
  }
  return bytes;
}
