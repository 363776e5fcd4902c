import { appendFileSync, closeSync, openSync } from "node:fs";
import { LudusError } from "../errors.ts";

export interface AppendFile {
  /** Writes everything or throws: a short write on a full disk would leave half a record. */
  append(data: string | Uint8Array): void;
  /** Can be called again. */
  close(): void;
}

/** A file that a monitor adds to. After `close` its handle may be another file's, so nothing is written anymore. */
export function openAppendFile(path: string, flags: "a" | "ax" = "a"): AppendFile {
  const handle = openSync(path, flags);
  let isOpen = true;
  return {
    append(data) {
      if (!isOpen) {
        throw new LudusError("monitor-closed", {
          got: `an event for ${path} after its monitor was closed`,
          expected: "a new monitor for every run",
        });
      }
      appendFileSync(handle, data);
    },
    close() {
      if (isOpen) closeSync(handle);
      isOpen = false;
    },
  };
}
