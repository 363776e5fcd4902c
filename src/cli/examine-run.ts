import { checklist, diagnoseFully, storedView } from "../monitor/index.ts";
import type { RunCatalog } from "../store/index.ts";
import type { DoctorReport } from "./doctor-report.ts";
import { withRun } from "./opened-run.ts";
import { openRecomputer } from "./recompute-logprobs.ts";

/** All the doctor has to say about a stored run. */
export async function examineRun(runs: RunCatalog, id: string): Promise<DoctorReport> {
  return withRun(runs, id, async ({ reader, checkpoints }) => {
    const recomputer = await openRecomputer(checkpoints);
    try {
      const view = await storedView(reader, { steps: recomputer.steps });
      const diagnosis = await diagnoseFully(view, { recompute: recomputer.recompute });
      return { run: id, ...diagnosis, checklist: checklist(view) };
    } finally {
      await recomputer.close();
    }
  });
}
