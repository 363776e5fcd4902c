import { crc32, deflateRawSync, inflateRawSync } from "node:zlib";
import { bounds } from "../bounds.ts";
import { defined } from "../defined.ts";
import { errorText, LudusError } from "../errors.ts";
import { ByteReader, ByteWriter } from "./byte-stream.ts";
import { currentTrajectoryForm } from "./earlier-forms.ts";
import { fromLosslessJson, toLosslessJson } from "./lossless-json.ts";
import { parseWith } from "./parse-with.ts";
import { readTokenColumns, writeTokenColumns } from "./token-columns.ts";
import { makeTrajectory, type Trajectory } from "./trajectory.ts";
import { TrajectoryFields, turnToJson } from "./trajectory-fields.ts";

// Little-endian: "LTRJ", version u8, crc32 u32 of all that follows, deflated size u32, inflated size u32, deflated body.
// The body: the tokens' columns, then the other fields as JSON to the end.
const magic = 0x4a52544c;
const version = 1;
const offsets = { version: 4, checksum: 5, deflatedSize: 9, inflatedSize: 13, body: 17 };

const encoder = new TextEncoder();
/** zlib takes no smaller one. */
const smallestChunk = 64;

/** The form in which trajectories are stored: a few bytes a token. Every bit comes back. */
export function encodeTrajectory(trajectory: Trajectory): Uint8Array {
  // what is outside the mask is not written, so a trajectory that has something there must not pass
  const { tokens_T, mask_T, logprobs_T, versions_T, ...fields } = makeTrajectory(trajectory);
  const writer = new ByteWriter();
  writeTokenColumns(writer, { tokens_T, mask_T, logprobs_T, versions_T });
  writer.write(encoder.encode(toLosslessJson({ ...fields, turns: fields.turns.map(turnToJson) })));
  const body = writer.written();
  if (body.length > bounds.trajectoryBytes) refuseSize(trajectory.id, body.length);
  // the default chunk is of 16 kB, most of which would be cleared and thrown away
  const deflated = deflateRawSync(body, { chunkSize: Math.max(smallestChunk, body.length) });
  const bytes = new Uint8Array(offsets.body + deflated.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, magic, true);
  view.setUint8(offsets.version, version);
  view.setUint32(offsets.deflatedSize, deflated.length, true);
  view.setUint32(offsets.inflatedSize, body.length, true);
  bytes.set(deflated, offsets.body);
  view.setUint32(offsets.checksum, crc32(bytes.subarray(offsets.deflatedSize)), true);
  return bytes;
}

function refuseSize(id: string, bytes: number): never {
  throw new LudusError("trajectory-too-large", {
    got: `${bytes} bytes of ${id}`,
    expected: `at most ${bounds.trajectoryBytes}`,
    hint: "Lower `limits.observationChars`, `limits.turns` or `limits.turnTokens`.",
  });
}

/** Reads what `encodeTrajectory` wrote. Throws `bad-trajectory-bytes` for anything else. */
export function decodeTrajectory(bytes: Uint8Array): Trajectory {
  const body = checkedBody(bytes);
  try {
    const reader = new ByteReader(body);
    const columns = readTokenColumns(reader);
    const fields = fromLosslessJson(new TextDecoder("utf-8", { fatal: true }).decode(reader.read(reader.remaining)));
    const parsed = parseWith(TrajectoryFields, currentTrajectoryForm(fields), "a trajectory", "bad-trajectory");
    return makeTrajectory({ ...parsed, ...columns });
  } catch (cause) {
    const reason = errorText(cause);
    return refuse(`a whole trajectory whose contents do not fit (${reason})`, "what encodeTrajectory writes", cause);
  }
}

function checkedBody(bytes: Uint8Array): Uint8Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < offsets.body) refuse(`${bytes.length} bytes`, `a header of ${offsets.body}, then a body`);
  if (view.getUint32(0, true) !== magic) refuse("bytes that do not start with LTRJ", "an encoded trajectory");
  const found = view.getUint8(offsets.version);
  if (found !== version) refuse(`version ${found}`, `version ${version}`, undefined, "A newer Ludus wrote it: update.");
  const size = offsets.body + view.getUint32(offsets.deflatedSize, true);
  if (bytes.length !== size) refuse(`${bytes.length} bytes`, `${size}, as its header says`);
  if (crc32(bytes.subarray(offsets.deflatedSize)) !== view.getUint32(offsets.checksum, true)) {
    refuse("a checksum that does not match: bytes were changed", "bytes as they were written");
  }
  try {
    const maxOutputLength = Math.max(1, view.getUint32(offsets.inflatedSize, true));
    return inflateRawSync(bytes.subarray(offsets.body), { maxOutputLength });
  } catch (cause) {
    return refuse("a body that does not inflate", "what encodeTrajectory writes", cause);
  }
}

function refuse(got: string, expected: string, cause?: unknown, hint?: string): never {
  const details = { got, expected, ...defined({ hint, cause }) };
  throw new LudusError("bad-trajectory-bytes", details);
}
