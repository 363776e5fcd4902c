import { tmpdir } from "node:os";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { openFolderBox } from "./folder-box.ts";
import { runProcess } from "./run-process.ts";
import type { Sandbox } from "./sandbox.ts";

export interface ProcessSandboxOptions {
  /** Where the folders of boxes and images are made; the system's folder for temporary files, otherwise. */
  folder?: string;
}

const knownProcessSandboxOptions: KnownOptions<ProcessSandboxOptions> = { folder: true };

/**
 * Commands in a process group, in a temporary folder that is removed on `close`. Needs nothing to be installed, and keeps code
 * that means well from doing harm by accident: see level `process` for what code can still do.
 */
export function processSandbox(options: ProcessSandboxOptions = {}): Sandbox {
  refuseUnknownOptions("processSandbox", options, knownProcessSandboxOptions);
  const { folder = tmpdir() } = options;
  const [name, level] = ["process", "process"] as const;
  return {
    name,
    level,
    open: (spec, signal) => openFolderBox({ name, level, folder, run: runProcess }, spec, signal),
  };
}
