import { Checkpoints } from "../checkpoint/checkpoints.ts";
import type { RunCatalog, RunReader } from "../store/index.ts";

/** A stored run that a command is about. */
export interface OpenedRun {
  /** As it was typed. */
  readonly id: string;
  readonly reader: RunReader;
  readonly checkpoints: Checkpoints;
}

/** Opens a run for as long as `use` takes. */
export async function withRun<Value>(
  runs: RunCatalog,
  id: string,
  use: (run: OpenedRun) => Promise<Value>,
): Promise<Value> {
  const reader = await runs.open(id);
  try {
    return await use({ id, reader, checkpoints: new Checkpoints(runs.checkpointDirectory(id)) });
  } finally {
    await reader.close();
  }
}
