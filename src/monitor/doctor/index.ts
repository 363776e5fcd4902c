export { type ChecklistItem, checklist } from "./checklist.ts";
export type { Detector, Evidence, Finding, RunView, SampledGroup, SeriesPoint, Severity } from "./detector.ts";
export { builtinDetectors } from "./detectors/index.ts";
export { type DiagnoseOptions, type Diagnosis, diagnose, diagnoseFully } from "./diagnose.ts";
export { builtinInvariants } from "./invariants/index.ts";
export type { Invariant, Proof } from "./invariants/invariant.ts";
export type { Recompute } from "./invariants/logprobs-recomputed.ts";
export { DoctorStop, type LiveDoctor, type LiveDoctorOptions, liveDoctor } from "./live-doctor.ts";
export { type StoredViewOptions, storedView } from "./stored-view.ts";
