import { sum } from "../statistics.ts";
import { type ByteReader, BytesExhausted, type ByteWriter } from "./byte-stream.ts";
import type { Trajectory } from "./trajectory.ts";

// T tokens, S sampled ones.

export type TokenColumns = Pick<Trajectory, "tokens_T" | "mask_T" | "logprobs_T" | "versions_T">;

/** What is outside the mask is known (log-probability 0, version -1) and not written. */
export function writeTokenColumns(writer: ByteWriter, columns: TokenColumns): void {
  const { tokens_T, mask_T, logprobs_T, versions_T } = columns;
  writer.varint(tokens_T.length);
  writeRuns(writer, mask_T);
  writer.varints(tokens_T);
  const S = sum(mask_T);
  writeRuns(writer, sampledOnly(versions_T, mask_T, new Int32Array(S)));
  writer.write(bytePlanes(sampledOnly(logprobs_T, mask_T, new Float32Array(S))));
  const negativeZeros: number[] = [];
  for (let t = 0; t < logprobs_T.length; t++) {
    if (mask_T[t] === 0 && Object.is(logprobs_T[t], -0)) negativeZeros.push(t);
  }
  writer.varint(negativeZeros.length);
  for (const [i, t] of negativeZeros.entries()) writer.varint(t - (negativeZeros[i - 1] ?? 0));
}

export function readTokenColumns(reader: ByteReader): TokenColumns {
  const T = reader.varint();
  // a token takes a byte at least: a wrong count must not reserve gigabytes
  if (T > reader.remaining) throw new BytesExhausted(`${T} tokens in ${reader.remaining} bytes`);
  const mask_T = readRuns(reader, new Uint8Array(T));
  const tokens_T = new Int32Array(T);
  for (let t = 0; t < T; t++) tokens_T[t] = reader.varint();
  const S = sum(mask_T);
  const versions_S = readRuns(reader, new Int32Array(S));
  const logprobs_S = fromBytePlanes(reader.read(4 * S));
  const versions_T = new Int32Array(T).fill(-1);
  const logprobs_T = new Float32Array(T);
  let s = 0;
  for (let t = 0; t < T; t++) {
    if (mask_T[t] === 0) continue;
    versions_T[t] = versions_S[s];
    logprobs_T[t] = logprobs_S[s++];
  }
  let position = 0;
  for (let left = reader.varint(); left > 0; left--) {
    position += reader.varint();
    logprobs_T[position] = -0;
  }
  return { tokens_T, mask_T, logprobs_T, versions_T };
}

function sampledOnly<Values extends Int32Array | Float32Array>(
  values_T: Values,
  mask_T: Uint8Array,
  values_S: Values,
): Values {
  let s = 0;
  for (let t = 0; t < mask_T.length; t++) if (mask_T[t] === 1) values_S[s++] = values_T[t];
  return values_S;
}

/** Value and length of every stretch of equal values. */
function writeRuns(writer: ByteWriter, values: Uint8Array | Int32Array): void {
  for (let start = 0; start < values.length; ) {
    let end = start + 1;
    while (end < values.length && values[end] === values[start]) end++;
    writer.varint(values[start] >>> 0);
    writer.varint(end - start);
    start = end;
  }
}

function readRuns<Values extends Uint8Array | Int32Array>(reader: ByteReader, into: Values): Values {
  for (let start = 0; start < into.length; ) {
    const value = reader.varint();
    const length = reader.varint();
    if (length === 0 || start + length > into.length) throw new BytesExhausted(`a run of ${length} does not fit`);
    into.fill(value, start, start + length);
    start += length;
  }
  return into;
}

/** All first bytes, then all second ones: signs and exponents side by side deflate well, mantissas do not at all. */
function bytePlanes(values_S: Float32Array): Uint8Array {
  const S = values_S.length;
  const bytes = new Uint8Array(4 * S);
  const view = new DataView(bytes.buffer);
  for (let s = 0; s < S; s++) view.setFloat32(4 * s, values_S[s], true);
  const planes = new Uint8Array(4 * S);
  for (let s = 0; s < S; s++) {
    for (let plane = 0; plane < 4; plane++) planes[plane * S + s] = bytes[4 * s + plane];
  }
  return planes;
}

function fromBytePlanes(planes: Uint8Array): Float32Array {
  const view = new DataView(new ArrayBuffer(4));
  const values_S = new Float32Array(planes.length / 4);
  for (let s = 0; s < values_S.length; s++) {
    for (let plane = 0; plane < 4; plane++) view.setUint8(plane, planes[plane * values_S.length + s]);
    values_S[s] = view.getFloat32(0, true);
  }
  return values_S;
}
