import "../check-node.ts";

export { metric } from "../schema/metric-names.ts";
export { type ConsoleMonitorOptions, consoleMonitor, type Screen } from "./console-monitor.ts";
export {
  type ChecklistItem,
  checklist,
  type DiagnoseOptions,
  type Diagnosis,
  DoctorStop,
  diagnose,
  diagnoseFully,
  type Evidence,
  type Finding,
  type LiveDoctor,
  type LiveDoctorOptions,
  liveDoctor,
  type Proof,
  type Recompute,
  type RunView,
  type SampledGroup,
  type SeriesPoint,
  type Severity,
  type StoredViewOptions,
  storedView,
} from "./doctor/index.ts";
export { type JsonlMonitorOptions, jsonlMonitor } from "./jsonl-monitor.ts";
export { type MlflowMonitorOptions, mlflowMonitor } from "./mlflow-monitor.ts";
export type { FinishedRollout, Monitor } from "./monitor.ts";
export { type OtelMonitorOptions, otelMonitor, type Tracer } from "./otel-monitor.ts";
export { type TensorboardMonitorOptions, tensorboardMonitor } from "./tensorboard-monitor.ts";
export { type WandbMonitorOptions, wandbMonitor } from "./wandb-monitor.ts";
