import { LudusError } from "../../errors.ts";

// A record is: length (8 bytes), checksum of the length (4), data, checksum of the data (4); all little-endian.
const headerBytes = 12;
const footerBytes = 4;

export function tfRecord(data: Uint8Array): Uint8Array {
  const record = new Uint8Array(headerBytes + data.length + footerBytes);
  const view = new DataView(record.buffer);
  view.setBigUint64(0, BigInt(data.length), true);
  view.setUint32(8, maskedCrc32c(record.subarray(0, 8)), true);
  record.set(data, headerBytes);
  view.setUint32(headerBytes + data.length, maskedCrc32c(data), true);
  return record;
}

/** Reads all whole records; what a crash left half-written at the end is passed over. */
export function readTfRecords(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const records: Uint8Array[] = [];
  let at = 0;
  while (at + headerBytes <= bytes.length) {
    const length = Number(view.getBigUint64(at, true));
    check(view.getUint32(at + 8, true), bytes.subarray(at, at + 8), at);
    const end = at + headerBytes + length + footerBytes;
    if (end > bytes.length) break;
    const data = bytes.subarray(at + headerBytes, end - footerBytes);
    check(view.getUint32(end - footerBytes, true), data, at);
    records.push(data);
    at = end;
  }
  return records;
}

function check(checksum: number, bytes: Uint8Array, at: number): void {
  if (checksum === maskedCrc32c(bytes)) return;
  throw new LudusError("bad-record", {
    got: `a wrong checksum in the record at byte ${at}`,
    expected: "a TFRecord file",
  });
}

// The Castagnoli polynomial, bits reversed. Node's own crc32 has another polynomial.
const polynomial = 0x82f63b78;

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let remainder = byte;
  for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? (remainder >>> 1) ^ polynomial : remainder >>> 1;
  return remainder;
});

export function crc32c(bytes: Uint8Array): number {
  let remainder = 0xffffffff;
  for (const byte of bytes) remainder = (remainder >>> 8) ^ table[(remainder ^ byte) & 0xff];
  return (remainder ^ 0xffffffff) >>> 0;
}

/** As TFRecord stores it: a checksum of bytes that hold a checksum themselves would be weak, so it is rotated and a constant is added. */
export function maskedCrc32c(bytes: Uint8Array): number {
  const checksum = crc32c(bytes);
  return (((checksum >>> 15) | (checksum << 17)) + 0xa282ead8) >>> 0;
}
