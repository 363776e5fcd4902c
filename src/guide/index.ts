export {
  type FailedAttempt,
  type FailedTask,
  type GuidanceOptions,
  guidance,
  type HintGenerator,
  type HintWriter,
  hintKinds,
  type LockHintsOptions,
  lockHints,
  type ModelHintsOptions,
  modelHints,
  type ScriptedHintsOptions,
  scriptedHints,
  withoutHint,
} from "./guidance/index.ts";
export type { Guide, MakeGuide } from "./guide.ts";
export { inOrder } from "./in-order.ts";
