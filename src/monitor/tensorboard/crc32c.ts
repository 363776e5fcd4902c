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

/** As TFRecord stores it: a checksum of bytes that hold a checksum themselves would be weak, so it is turned and shifted. */
export function maskedCrc32c(bytes: Uint8Array): number {
  const checksum = crc32c(bytes);
  return (((checksum >>> 15) | (checksum << 17)) + 0xa282ead8) >>> 0;
}
