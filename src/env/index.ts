import "../check-node.ts";

export { withContext } from "./agents/with-context.ts";
export {
  type FailingToolsOptions,
  type Recoveries,
  recoveries,
  withFailingTools,
} from "./agents/with-failing-tools.ts";
export { withPermissions } from "./agents/with-permissions.ts";
export {
  type Preference,
  type PreferencesOptions,
  type Preferring,
  withPreferences,
} from "./agents/with-preferences.ts";
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
  type EpisodeResult,
  type Move,
} from "./episode.ts";
export type { EpisodeOptions } from "./episode-options.ts";
export { type OpenEnvOptions, type OpenEnvState, type OpenEnvTask, openEnv } from "./open-env/open-env.ts";
export {
  type PythonEnvOptions,
  type PythonLibrary,
  type PythonState,
  type PythonTask,
  pythonEnv,
} from "./python/python-env.ts";
export type { ServedEnv, ServeHttpOptions } from "./serve/served-env.ts";
export { type ServeEnvOptions, serveEnv } from "./serve-env.ts";
