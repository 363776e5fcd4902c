import "../check-node.ts";

export {
  type Context,
  type ContextRender,
  fullContext,
  lastTurns,
  observationStubs,
  type Segment,
} from "./context.ts";
export { type Attempt, group } from "./group.ts";
export type { Limits } from "./limits.ts";
export { type OnWorkersOptions, onWorkers, type RemoteWorld } from "./remote/on-workers.ts";
export type { PlayedRollout, Policy, RenderContext, Rollout, RolloutOptions } from "./rollout.ts";
export { type GroupOptions, type RolloutGroup, runGroup } from "./run-group.ts";
export { demonstrate, runRollout } from "./run-rollout.ts";
export { type Speaker, type SpeakRequest, scriptedSpeaker, type Utterance } from "./speaker.ts";
export type { DemonstrateOptions, Opening, World } from "./world.ts";
