import type { Checkpoints } from "../checkpoint/checkpoints.ts";
import { embedded } from "../engine/embedded/embedded.ts";
import { type Engine, policyWeights } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import type { Recompute } from "../monitor/index.ts";
import type { Trajectory } from "../schema/trajectory.ts";

/** Recomputes log-probabilities with the checkpoints of a run; close it when done. */
export interface Recomputer {
  readonly recompute: Recompute;
  /** Steps whose rollouts were sampled from weights that are there. */
  readonly steps: readonly number[];
  close(): Promise<void>;
}

/** Opens all checkpoints of a run that the embedded engine wrote; a checkpoint's weights sampled the step after it. */
export async function openRecomputer(checkpoints: Checkpoints): Promise<Recomputer> {
  const engines = new Map<number, Engine>();
  for (const step of checkpoints.steps()) {
    const engine = await openEngine(checkpoints.directory(step));
    if (engine !== undefined) engines.set(engine.info.policyVersion, engine);
  }
  return {
    steps: checkpoints.steps().map((step) => step + 1),
    async recompute(trajectory) {
      const engine = engines.get(versionOf(trajectory) ?? -1);
      if (engine === undefined || trajectory.weights !== policyWeights || trajectory.truncation !== undefined)
        return undefined;
      const { tokens_T, mask_T, temperature } = trajectory;
      // greedy sampling reports log-probabilities at temperature 1
      const options = { temperature: temperature === 0 ? 1 : temperature };
      const { logprobs_B_T } = await engine.forward({ rows: [{ tokens: tokens_T, mask: mask_T }] }, options);
      return logprobs_B_T[0];
    },
    async close() {
      for (const engine of engines.values()) await engine.close();
    },
  };
}

/** Undefined where the folder is another engine's, or damaged: then nothing can be recomputed from it. */
async function openEngine(folder: string): Promise<Engine | undefined> {
  try {
    return await embedded({ folder, threads: 1 });
  } catch (error) {
    if (error instanceof LudusError) return undefined;
    throw error;
  }
}

/** The version that sampled all of a trajectory; undefined where it was several. */
function versionOf({ mask_T, versions_T }: Trajectory): number | undefined {
  const versions = new Set(versions_T.filter((_, t) => mask_T[t] === 1));
  return versions.size === 1 ? [...versions][0] : undefined;
}
