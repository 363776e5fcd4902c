import { BinaryWriter } from "@bufbuild/protobuf/wire";

/**
 * `wandb_internal.Record` with what metrics need. The fields, from wandb_internal.proto:
 *
 *     Record        { int64 num = 1; HistoryRecord history = 2; SummaryRecord summary = 3; RunRecord run = 17; RunExitRecord exit = 18;
 *                     HeaderRecord header = 21; }
 *     HeaderRecord  { VersionInfo version_info = 1; }  VersionInfo { string producer = 1; string min_consumer = 2; }
 *     RunRecord     { string run_id = 1; string entity = 2; string project = 3; ConfigRecord config = 4; string run_group = 6;
 *                     string display_name = 8; string host = 13; Timestamp start_time = 17; }
 *     ConfigRecord, SummaryRecord  { repeated Item update = 1; }   HistoryRecord { repeated Item item = 1; HistoryStep step = 2; }
 *     Item          { string key = 1; repeated string nested_key = 2; string value_json = 16; }   HistoryStep { int64 num = 1; }
 *     RunExitRecord { int32 exit_code = 1; int32 runtime = 2; }
 */
export interface RunFields {
  readonly id: string;
  readonly project: string;
  readonly entity?: string;
  readonly name?: string;
  readonly group?: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** Milliseconds since 1970. */
  readonly started: number;
}

const bytesType = 2;
const varintType = 0;

export function headerRecord(): Uint8Array {
  const version = new BinaryWriter().tag(1, bytesType).string("ludus").tag(2, bytesType).string("0.70.0").finish();
  return record(1, 21, new BinaryWriter().tag(1, bytesType).bytes(version).finish());
}

export function runRecord(num: number, run: RunFields): Uint8Array {
  const config = new BinaryWriter();
  for (const [key, value] of Object.entries(run.config)) {
    config.tag(1, bytesType).bytes(item(key, JSON.stringify(value) ?? "null", 1));
  }
  const seconds = Math.floor(run.started / 1000);
  const nanos = Math.floor((run.started - 1000 * seconds) * 1e6);
  const time = new BinaryWriter().tag(1, varintType).int64(seconds).tag(2, varintType).int32(nanos).finish();
  const writer = new BinaryWriter().tag(1, bytesType).string(run.id);
  if (run.entity !== undefined) writer.tag(2, bytesType).string(run.entity);
  writer.tag(3, bytesType).string(run.project).tag(4, bytesType).bytes(config.finish());
  if (run.group !== undefined) writer.tag(6, bytesType).string(run.group);
  if (run.name !== undefined) writer.tag(8, bytesType).string(run.name);
  return record(num, 17, writer.tag(17, bytesType).bytes(time).finish());
}

export function historyRecord(num: number, step: number, values: Readonly<Record<string, number>>): Uint8Array {
  const writer = items(values);
  const stepNumber = new BinaryWriter().tag(1, varintType).int64(step).finish();
  return record(num, 2, writer.tag(2, bytesType).bytes(stepNumber).finish());
}

export function summaryRecord(num: number, values: Readonly<Record<string, number>>): Uint8Array {
  return record(num, 3, items(values).finish());
}

export function exitRecord(num: number, exitCode: number, runtimeSeconds: number): Uint8Array {
  const writer = new BinaryWriter().tag(1, varintType).int32(exitCode);
  return record(num, 18, writer.tag(2, varintType).int32(Math.floor(runtimeSeconds)).finish());
}

function items(values: Readonly<Record<string, number>>): BinaryWriter {
  const writer = new BinaryWriter();
  // W&B writes numbers that JSON lacks as Python does: NaN, Infinity, -Infinity
  for (const [key, value] of Object.entries(values)) writer.tag(1, bytesType).bytes(item(key, String(value), 2));
  return writer;
}

function item(key: string, json: string, keyField: 1 | 2): Uint8Array {
  return new BinaryWriter().tag(keyField, bytesType).string(key).tag(16, bytesType).string(json).finish();
}

function record(num: number, field: number, content: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(1, varintType).int64(num).tag(field, bytesType).bytes(content).finish();
}
