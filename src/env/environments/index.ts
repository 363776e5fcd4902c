import "../../check-node.ts";
import { browserEnv } from "../browser/browser-env.ts";
import type { Env } from "../env.ts";
import { bandit } from "./bandit.ts";
import { countdown } from "./countdown.ts";
import { craftGrid } from "./craft-grid.ts";
import { dataAnalyst } from "./data-analyst.ts";
import { frozenLake } from "./frozen-lake.ts";
import { functionCalling } from "./function-calling.ts";
import { guardedDesk } from "./guarded-desk.ts";
import { household } from "./household.ts";
import { keyDoor } from "./key-door.ts";
import { lock } from "./lock.ts";
import { miniForms } from "./mini-forms.ts";
import type { Style } from "./moves.ts";
import { nim } from "./nim.ts";
import { officeSkills } from "./office-skills.ts";
import { officeTrials } from "./office-trials.ts";
import { picturedPage } from "./pictured-page.ts";
import { projectRules } from "./project-rules.ts";
import { reacher } from "./reacher.ts";
import { repositories } from "./repositories.ts";
import { retailDesk } from "./retail-desk.ts";
import { searchQa } from "./search-qa.ts";
import { sokoban } from "./sokoban.ts";
import { storeRoom } from "./store-room.ts";
import { virtualScreen } from "./virtual-screen.ts";
import { webShop } from "./web-shop.ts";

export {
  type BrowserEnvOptions,
  type BrowserEnvState,
  type BrowserEnvTask,
  browserEnv,
  type Web,
} from "../browser/browser-env.ts";
export type { Milestone, TaskKind, TaskRule } from "../browser/browser-tasks.ts";
export type { ChromiumOptions } from "../browser/chromium-options.ts";
export { type MiniWobOptions, miniWob, miniWobPages } from "../browser/mini-wob.ts";
export { type Site, type SiteData, siteParts } from "../browser/sites/site.ts";
export {
  type Mind2WebTask,
  readMind2Web,
  readWebArena,
  readWebShop,
  type WebArenaTask,
  type WebShopInstruction,
  webArenaScore,
} from "../browser/task-files.ts";
export {
  type CheckedProblems,
  type CodeProblem,
  type CodeProblemsOptions,
  checkProblems,
  type ProblemLeftOut,
  readKodCode,
} from "../mined/code-problems.ts";
export { type GenerateProblemsOptions, generateProblems } from "../mined/generate-problems.ts";
export {
  type LeftOut,
  type MinedCommit,
  type MinedRepository,
  type MinedTask,
  type MineOptions,
  mineRepository,
} from "../mined/mine-repository.ts";
export { type MinedRepositoriesOptions, type MinedState, minedRepositories } from "../mined/mined-repositories.ts";
export { nodeTestRunner, pythonTestRunner, type TestCommand, type TestRunner } from "../mined/test-runner.ts";
export type { AnalystLevel, AnalystTask } from "./analyst-tasks.ts";
export { type BanditOptions, type BanditTask, bandit } from "./bandit.ts";
export { type CountdownOptions, type CountdownTask, countdown } from "./countdown.ts";
export { type CraftGridOptions, type CraftGridState, type CraftGridTask, craftGrid } from "./craft-grid.ts";
export { type DataAnalystOptions, type DataAnalystState, dataAnalyst } from "./data-analyst.ts";
export {
  type FrozenLakeOptions,
  type FrozenLakeState,
  type FrozenLakeTask,
  frozenLake,
  rllmLake,
} from "./frozen-lake.ts";
export {
  type FunctionCallingOptions,
  type FunctionCallingTask,
  functionCalling,
  toolRlReferenceOf,
} from "./function-calling.ts";
export {
  type GoalDialsEnv,
  type GoalDialsOptions,
  type GoalDialsState,
  type GoalDialsTask,
  goalDials,
} from "./goal-dials.ts";
export {
  type GuardedDeskOptions,
  type GuardedDeskState,
  type GuardedDeskTask,
  guardedDesk,
  obeyedInjection,
} from "./guarded-desk.ts";
export { type HouseholdOptions, household } from "./household.ts";
export { type KeyDoorOptions, type KeyDoorState, type KeyDoorTask, keyDoor } from "./key-door.ts";
export {
  type HintKind,
  type LockEnv,
  type LockHints,
  type LockOptions,
  type LockState,
  type LockTask,
  lock,
} from "./lock.ts";
export { type MiniFormsOptions, miniForms } from "./mini-forms.ts";
export type { Style } from "./moves.ts";
export { type NimOptions, type NimState, type NimTask, nim } from "./nim.ts";
export {
  type OfficeSkillsOptions,
  type OfficeSkillsState,
  type OfficeSkillsTask,
  officeSkillFor,
  officeSkills,
} from "./office-skills.ts";
export { type OfficeTrialsOptions, type OfficeTrialsState, officeTrials, writtenSkill } from "./office-trials.ts";
export {
  type PageElement,
  type PicturedPageOptions,
  type PicturedPageTask,
  picturedPage,
} from "./pictured-page.ts";
export { type ProjectRulesOptions, type ProjectRulesTask, projectRules } from "./project-rules.ts";
export {
  type ReacherArm,
  type ReacherOptions,
  type ReacherState,
  type ReacherTask,
  reacher,
  reacherActions,
} from "./reacher.ts";
export { type RepositoriesOptions, type RepositoryState, repositories } from "./repositories.ts";
export type { RepositoryTask } from "./repository-tasks.ts";
export { type RetailDeskOptions, type RetailState, retailDesk } from "./retail-desk.ts";
export type { ScreenTask } from "./screen-tasks.ts";
export { type SearchQaOptions, type SearchQaState, type SearchQaTask, searchQa } from "./search-qa.ts";
export { type SokobanOptions, type SokobanState, type SokobanTask, sokoban } from "./sokoban.ts";
export { type StoreRoomOptions, type StoreRoomState, type StoreRoomTask, storeRoom } from "./store-room.ts";
export {
  readQuestion,
  type SumQuestionsOptions,
  type SumsOptions,
  type SumsTask,
  sumQuestions,
  sums,
} from "./sums.ts";
export { type SweBenchTask, sweBenchTasks } from "./swe-bench-tasks.ts";
export { type VirtualScreenOptions, type VirtualScreenState, virtualScreen } from "./virtual-screen.ts";
export { type WebShopOptions, type WebShopState, type WebShopTask, webShop } from "./web-shop.ts";

/** What all of them take. */
export interface ShippedOptions {
  style?: Style;
  seed?: number;
  /** Of `browser` alone. */
  pages?: "chromium";
}

export interface ShippedEnv {
  make(options?: ShippedOptions): Env;
  /** That of the environment as it is by default. */
  readonly description: string;
}

/** The environments that the command line knows, by name. */
export const shippedEnvs: Readonly<Record<string, ShippedEnv>> = {
  bandit: shipped(bandit),
  browser: shipped(({ style = "compact", ...options } = {}) =>
    browserEnv({ ...options, ...(style === "compact" ? { actions: "do", view: "compact" } : { actions: "do" }) }),
  ),
  countdown: shipped(countdown),
  "craft-grid": shipped(inOneStyle(craftGrid)),
  "data-analyst": shipped(dataAnalyst),
  "frozen-lake": shipped(frozenLake),
  "function-calling": shipped(functionCalling),
  "guarded-desk": shipped(guardedDesk),
  household: shipped(household),
  "key-door": shipped(keyDoor),
  lock: shipped(lock),
  "mini-forms": shipped(miniForms),
  nim: shipped((options) => nim({ ...options, opponent: "random" })),
  "office-skills": shipped(officeSkills),
  "office-trials": shipped(inOneStyle(officeTrials)),
  "pictured-page": shipped(inOneStyle(picturedPage)),
  "project-rules": shipped(projectRules),
  reacher: shipped(inOneStyle(reacher)),
  repositories: shipped(repositories),
  "retail-desk": shipped(retailDesk),
  "screen-grounding": shipped(virtualScreen),
  "search-qa": shipped(searchQa),
  sokoban: shipped(sokoban),
  "store-room": shipped(storeRoom),
  "virtual-screen": shipped((options) => virtualScreen({ ...options, task: "episode" })),
  "web-shop": shipped(webShop),
};

function shipped<Data, State>(make: (options?: ShippedOptions) => Env<Data, State>): ShippedEnv {
  return {
    make: (options) => make(options) as Env,
    get description() {
      return make().description;
    },
  };
}

/** Of environments whose messages have one style, whichever is asked for. */
function inOneStyle<Data, State>(make: (options: { seed?: number }) => Env<Data, State>) {
  return ({ style: _, ...options }: ShippedOptions = {}) => make(options);
}
