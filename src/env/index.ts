import "../check-node.ts";

export { withContext } from "./agents/with-context.ts";
export { withPermissions } from "./agents/with-permissions.ts";
export { withSkills } from "./agents/with-skills.ts";
export type { EnvFinding, EnvFindingCode } from "./check/findings.ts";
export { type CheckEnvOptions, checkEnv, type EnvReport } from "./check-env.ts";
export { defaultLimits, defineEnv, type EnvDefinition, type ToolMaker } from "./define-env.ts";
export type {
  ActContext,
  Acted,
  Env,
  ExpertContext,
  FinishedEpisode,
  ScoreParts,
  Start,
  StartContext,
} from "./env.ts";
export {
  Episode,
  type EpisodeEnd,
  type EpisodeOptions,
  type EpisodeResult,
  type Move,
} from "./episode.ts";
export type { ServedEnv, ServeHttpOptions } from "./serve/served-env.ts";
export { type ServeEnvOptions, serveEnv } from "./serve-env.ts";
