import { BinaryWriter } from "@bufbuild/protobuf/wire";

/**
 * `tensorflow.Event` with what scalars need. The fields, from TensorBoard's event.proto and summary.proto:
 *
 *     Event    { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5; }
 *     Summary  { repeated Value value = 1; }
 *     Value    { string tag = 1; float simple_value = 2; }
 */
export interface ScalarEvent {
  /** Seconds since 1970. */
  readonly wallTime: number;
  readonly step: number;
  readonly scalars: Readonly<Record<string, number>>;
}

export function encodeScalars({ wallTime, step, scalars }: ScalarEvent): Uint8Array {
  const summary = new BinaryWriter();
  for (const [tag, value] of Object.entries(scalars)) {
    const encoded = new BinaryWriter().tag(1, 2).string(tag).tag(2, 5).float(clampToFloat(value)).finish();
    summary.tag(1, 2).bytes(encoded);
  }
  const writer = new BinaryWriter().tag(1, 1).double(wallTime).tag(2, 0).int64(step);
  return writer.tag(5, 2).bytes(summary.finish()).finish();
}

/** What every event file begins with. */
export function encodeFileVersion(wallTime: number): Uint8Array {
  return new BinaryWriter().tag(1, 1).double(wallTime).tag(3, 2).string("brain.Event:2").finish();
}

const largestFloat = 3.4028234663852886e38;

/** The writer refuses finite numbers that no float can hold. */
function clampToFloat(value: number): number {
  return Number.isFinite(value) ? Math.max(-largestFloat, Math.min(largestFloat, value)) : value;
}
