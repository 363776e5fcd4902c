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
export { type PolicySamplerOptions, policySampler } from "./policy-sampler.ts";
export { type OnWorkersOptions, onWorkers, type RemoteWorld } from "./remote/on-workers.ts";
export type { PlayedRollout, Policy, RenderContext, Rollout, RolloutOptions } from "./rollout.ts";
export { type GroupOptions, type RolloutGroup, runGroup } from "./run-group.ts";
export { demonstrate, runRollout } from "./run-rollout.ts";
export { type SayAgainPolicy, sayAgain } from "./say-again.ts";
export { type BeamSearchOptions, beamSearch } from "./search/beam-search.ts";
export {
  type BestAttemptOptions,
  bestAttempt,
  type SelfConsistencyOptions,
  selfConsistency,
} from "./search/best-attempt.ts";
export type { SearchBudget } from "./search/budget.ts";
export { type MctsOptions, mcts } from "./search/mcts.ts";
export type { OpenAttempt } from "./search/open-attempt.ts";
export {
  likelihood,
  type Search,
  type SearchedAttempt,
  type SearchOptions,
  type SearchValue,
} from "./search/search.ts";
export { type SearchedAction, type SearchedTurn, searchedTurn } from "./search/searched-turn.ts";
export { type StepLabelsOptions, stepLabels, stepLabelsOf } from "./search/step-labels.ts";
export { withSearch } from "./search/with-search.ts";
export { type Speaker, type SpeakRequest, scriptedSpeaker, type Utterance } from "./speaker.ts";
export type { DemonstrateOptions, Opening, World } from "./world.ts";
