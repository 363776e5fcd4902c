import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { wallClock } from "../clock.ts";
import type { Monitor } from "./monitor.ts";
import { encodeFileVersion, encodeScalars } from "./tensorboard/event.ts";
import { tfRecord } from "./tensorboard/tf-record.ts";

export interface TensorboardMonitorOptions {
  /** A folder for `tensorboard --logdir`; each run wants its own. */
  directory: string;
  /** Milliseconds since 1970. */
  now?: () => number;
}

/** Writes all metrics of steps and evaluations as TensorBoard reads them. A resumed run adds a file to the folder. */
export function tensorboardMonitor({ directory, now = wallClock }: TensorboardMonitorOptions): Monitor {
  mkdirSync(directory, { recursive: true });
  const seconds = () => now() / 1000;
  const name = `events.out.tfevents.${Math.floor(seconds()).toString().padStart(10, "0")}.ludus.${process.pid}`;
  const handle = openSync(join(directory, name), "a");
  const write = (event: Uint8Array) => void writeSync(handle, tfRecord(event));
  write(encodeFileVersion(seconds()));
  return {
    name: "tensorboard",
    record(event) {
      if (event.type !== "step-end" && event.type !== "eval-end") return;
      write(encodeScalars({ wallTime: seconds(), step: event.step, scalars: event.metrics }));
    },
    close: () => closeSync(handle),
  };
}
