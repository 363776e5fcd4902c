import "../check-node.ts";

export { type EasyToHardOptions, easyToHard } from "./easy-to-hard.ts";
export {
  type FailedAttempt,
  type FailedTask,
  type GuidanceOptions,
  guidance,
  type HintGenerator,
  type HintWriter,
  type LockHintsOptions,
  lockHints,
  type ModelHintsOptions,
  modelHints,
  type ScriptedHintsOptions,
  scriptedHints,
  withoutHint,
} from "./guidance/index.ts";
export type { ExtraGroups, Guide, GuideContext, GuideEngine, Lease, LeasedGroup, MakeGuide } from "./guide.ts";
export { type HindsightOptions, hindsight } from "./hindsight.ts";
export { inOrder } from "./in-order.ts";
export { type LearnabilityOptions, learnability } from "./learnability.ts";
export { type Leases, type LeasesState, leases } from "./leases.ts";
export { type OpponentPoolOptions, opponentPool } from "./opponent-pool.ts";
export { type FailedWords, type RewritingOptions, rewriting } from "./rewriting.ts";
export { type SelfEvolvingOptions, selfEvolving } from "./self-evolving.ts";
export { majority, type SelfLabel, type SelfLabelsOptions, selfLabels } from "./self-labels.ts";
