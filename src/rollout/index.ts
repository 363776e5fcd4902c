export { type Context, type ContextRender, keepAll, lastTurns, observationStubs, type Segment } from "./context.ts";
export { type DemonstrateOptions, demonstrate } from "./demonstrate.ts";
export { type Attempt, group } from "./group.ts";
export { mapWithLimit } from "./map-with-limit.ts";
export type { Policy, RenderContext, Rollout, RolloutOptions } from "./rollout.ts";
export { type GroupOptions, type RolloutGroup, runGroup } from "./run-group.ts";
export { runRollout, runTurns } from "./run-rollout.ts";
export type { SelfRunEnv } from "./self-run.ts";
export { type Speaker, type SpeakRequest, scriptedSpeaker, type Utterance } from "./speaker.ts";
