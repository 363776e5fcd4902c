import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { wallClock } from "../clock.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { type AppendFile, openAppendFile } from "./append-file.ts";
import type { Monitor } from "./monitor.ts";
import { encodeFileVersion, encodeScalars } from "./tensorboard/event.ts";
import { tfRecord } from "./tensorboard/tf-record.ts";

export interface TensorboardMonitorOptions {
  /** A folder below `tensorboard --logdir`, one for each run. */
  directory: string;
  /** Milliseconds since 1970. */
  now?: () => number;
}

const knownTensorboardMonitorOptions: KnownOptions<TensorboardMonitorOptions> = { directory: true, now: true };

/** Writes the metrics of steps and evaluations as TensorBoard event files. A resumed run adds a file to the folder. */
export function tensorboardMonitor(options: TensorboardMonitorOptions): Monitor {
  refuseUnknownOptions("tensorboardMonitor", options, knownTensorboardMonitorOptions);
  const { directory, now = wallClock } = options;
  mkdirSync(directory, { recursive: true });
  const seconds = () => now() / 1000;
  const stamp = Math.floor(seconds()).toString().padStart(10, "0");
  const output = openNewFile(join(directory, `events.out.tfevents.${stamp}.ludus.${process.pid}`));
  const write = (event: Uint8Array) => output.append(tfRecord(event));
  write(encodeFileVersion(seconds()));
  return {
    name: "tensorboard",
    record(event) {
      if (event.type !== "step-end" && event.type !== "eval-end") return;
      write(encodeScalars({ wallTime: seconds(), step: event.step, scalars: event.metrics }));
    },
    close: () => output.close(),
  };
}

/** Two runs that begin in the same second must not share a file. */
function openNewFile(path: string): AppendFile {
  for (let copy = 0; ; copy++) {
    try {
      return openAppendFile(copy === 0 ? path : `${path}.${copy}`, "ax");
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
    }
  }
}
