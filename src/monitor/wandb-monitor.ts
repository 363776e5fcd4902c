import { randomInt } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { wallClock } from "../clock.ts";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { openAppendFile } from "./append-file.ts";
import type { Monitor } from "./monitor.ts";
import { exitRecord, headerRecord, historyRecord, runRecord, summaryRecord } from "./wandb/record.ts";
import { logHeader, RecordFramer } from "./wandb/record-log.ts";

export interface WandbMonitorOptions {
  project: string;
  /** `wandb/` is made in this folder; the working folder by default. */
  directory?: string;
  /** The name of the run; that of the environment by default. */
  name?: string;
  entity?: string;
  group?: string;
  /** What W&B shows as the run's configuration. */
  config?: Readonly<Record<string, unknown>>;
  /** Eight letters and digits at random by default. A resumed run that is to be the same run in W&B is given the same one. */
  id?: string;
  /** Milliseconds since 1970. */
  now?: () => number;
}

const known: KnownOptions<WandbMonitorOptions> = {
  ...{ project: true, directory: true, name: true, entity: true, group: true, config: true, id: true, now: true },
};

/**
 * Writes the metrics of steps and evaluations as an offline run of Weights & Biases, without its SDK and without a network.
 * `wandb sync wandb/offline-run-…` uploads it.
 */
export function wandbMonitor(options: WandbMonitorOptions): Monitor {
  refuseUnknownOptions("wandbMonitor()", options, known);
  const { project, directory = ".", entity, group, config = {}, id = randomId(), now = wallClock } = options;
  if (!/^[\w-]{1,64}$/.test(id)) {
    throw new LudusError("bad-config", {
      got: `id ${JSON.stringify(id)}`,
      expected: "1 to 64 letters, digits, - or _",
    });
  }
  const started = now();
  const folder = join(directory, "wandb", `offline-run-${stamp(started)}-${id}`);
  for (const part of ["files", "logs"]) mkdirSync(join(folder, part), { recursive: true });
  const output = openAppendFile(join(folder, `run-${id}.wandb`), "ax");
  const framer = new RecordFramer();
  let count = 1;
  const write = (make: (num: number) => Uint8Array) => output.append(framer.frame(make(++count)));
  output.append(logHeader);
  output.append(framer.frame(headerRecord()));
  let hasRun = false;
  const begin = (name: string | undefined) => {
    if (hasRun) return;
    hasRun = true;
    const fields = { id, project, config, started, ...defined({ entity, group, name: options.name ?? name }) };
    write((num) => runRecord(num, fields));
  };
  // metrics of a step and of its evaluation are one row: W&B takes a step once
  let row: { readonly step: number; values: Record<string, number> } | undefined;
  const flush = () => {
    if (row === undefined) return;
    const { step, values } = row;
    row = undefined;
    const seconds = now() / 1000;
    const all = { ...values, _step: step, _timestamp: seconds, _runtime: seconds - started / 1000 };
    write((num) => historyRecord(num, step, all));
    write((num) => summaryRecord(num, all));
  };
  let isClosed = false;
  return {
    name: "wandb",
    record(event) {
      if (isClosed) output.append(""); // throws, in words
      begin(event.type === "run-start" ? event.name.slice(0, 128) : undefined);
      if (event.type === "step-end" || event.type === "eval-end") {
        if (row !== undefined && row.step !== event.step) flush();
        row = { step: event.step, values: { ...row?.values, ...event.metrics } };
      }
      if (event.type !== "run-end") return;
      flush();
      write((num) => exitRecord(num, event.reason === "failed" ? 1 : 0, (now() - started) / 1000));
    },
    close() {
      if (isClosed) return;
      isClosed = true;
      try {
        flush();
      } finally {
        output.close();
      }
    },
  };
}

function randomId(): string {
  const letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  return Array.from({ length: 8 }, () => letters[randomInt(letters.length)]).join("");
}

/** `20261116_081229` */
function stamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "_");
}
