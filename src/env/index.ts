export type { EnvFinding, EnvFindingCode } from "./check/findings.ts";
export { type CheckEnvOptions, checkEnv, describeFindings, type EnvReport } from "./check-env.ts";
export { defaultLimits, defineEnv, type EnvDefinition, type ToolMaker } from "./define-env.ts";
export type {
  ActContext,
  Acted,
  Env,
  ExpertContext,
  FinishedEpisode,
  Limits,
  ScoreParts,
  Start,
  StartContext,
} from "./env.ts";
export { type BanditOptions, type BanditTask, bandit } from "./environments/bandit.ts";
export { type CountdownOptions, type CountdownTask, countdown } from "./environments/countdown.ts";
export {
  type FrozenLakeOptions,
  type FrozenLakeState,
  type FrozenLakeTask,
  frozenLake,
  rllmLake,
} from "./environments/frozen-lake.ts";
export {
  type FunctionCallingOptions,
  type FunctionCallingTask,
  functionCalling,
  toolRlReferenceOf,
} from "./environments/function-calling.ts";
export { type HouseholdOptions, household } from "./environments/household.ts";
export { type ShippedEnv, type ShippedOptions, shippedEnvs } from "./environments/index.ts";
export { type KeyDoorOptions, type KeyDoorState, type KeyDoorTask, keyDoor } from "./environments/key-door.ts";
export {
  type HintKind,
  type LockEnv,
  type LockHints,
  type LockOptions,
  type LockState,
  type LockTask,
  lock,
} from "./environments/lock.ts";
export { type MiniFormsOptions, miniForms } from "./environments/mini-forms.ts";
export type { Style } from "./environments/moves.ts";
export { type RetailDeskOptions, type RetailState, retailDesk } from "./environments/retail-desk.ts";
export { type SearchQaOptions, type SearchQaState, type SearchQaTask, searchQa } from "./environments/search-qa.ts";
export { type SokobanOptions, type SokobanState, type SokobanTask, sokoban } from "./environments/sokoban.ts";
export { type VirtualScreenOptions, type VirtualScreenState, virtualScreen } from "./environments/virtual-screen.ts";
export { type WebShopOptions, type WebShopState, type WebShopTask, webShop } from "./environments/web-shop.ts";
export {
  Episode,
  type EpisodeEnd,
  type EpisodeOptions,
  type EpisodeResult,
  type EpisodeTurn,
  type Move,
} from "./episode.ts";
export type { ServedEnv, ServeHttpOptions } from "./serve/served-env.ts";
export { type ServeEnvOptions, serveEnv } from "./serve-env.ts";
