import { checklist, diagnoseFully, storedView } from "../monitor/index.ts";
import { openRun } from "../store/index.ts";
import type { DoctorReport } from "./doctor-report.ts";
import { openRecomputer, type Recomputer } from "./recompute-logprobs.ts";

/** All the doctor has to say about a run in a folder. */
export async function examineRun(directory: string): Promise<DoctorReport> {
  const reader = await openRun(directory, { readOnly: true });
  let recomputer: Recomputer | undefined;
  try {
    recomputer = await openRecomputer(directory);
    const view = await storedView(reader, { steps: recomputer.steps });
    const diagnosis = await diagnoseFully(view, { recompute: recomputer.recompute });
    return { run: directory, ...diagnosis, checklist: checklist(view) };
  } finally {
    await recomputer?.close();
    await reader.close();
  }
}
