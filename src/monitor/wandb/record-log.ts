import { crc32 } from "node:zlib";

// The file is a header and blocks of 32 KiB. A record is cut where a block ends; each piece has its checksum (4 bytes), its length (2)
// and its kind (1), little-endian. What is left of a block and too short for that is zeros.
const blockBytes = 32_768;
const pieceHeaderBytes = 7;
const kind = { whole: 1, first: 2, middle: 3, last: 4 } as const;

/** What a `.wandb` file begins with: `:W&B`, a magic number and the version of the format. */
export const logHeader = Uint8Array.of(0x3a, 0x57, 0x26, 0x42, 0xe1, 0xbe, 0);

/** Frames records for the place in the file that they are written to: it must be told every one, in order. */
export class RecordFramer {
  #position = logHeader.length;

  frame(record: Uint8Array): Uint8Array {
    const pieces: Uint8Array[] = [];
    let rest = record;
    for (let isFirst = true; isFirst || rest.length > 0; isFirst = false) {
      const left = blockBytes - (this.#position % blockBytes);
      if (left < pieceHeaderBytes) {
        pieces.push(new Uint8Array(left));
        this.#position += left;
      }
      const room = blockBytes - (this.#position % blockBytes) - pieceHeaderBytes;
      const part = rest.subarray(0, room);
      rest = rest.subarray(part.length);
      pieces.push(
        piece(
          part,
          isFirst ? (rest.length === 0 ? kind.whole : kind.first) : rest.length === 0 ? kind.last : kind.middle,
        ),
      );
      this.#position += pieceHeaderBytes + part.length;
    }
    return Buffer.concat(pieces);
  }
}

function piece(part: Uint8Array, kindOfPiece: number): Uint8Array {
  const framed = new Uint8Array(pieceHeaderBytes + part.length);
  framed[6] = kindOfPiece;
  framed.set(part, pieceHeaderBytes);
  const view = new DataView(framed.buffer);
  view.setUint32(0, crc32(framed.subarray(6)), true);
  view.setUint16(4, part.length, true);
  return framed;
}
