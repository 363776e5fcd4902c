import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { compact } from "../../policy/formats/compact.ts";
import { hermes } from "../../policy/formats/hermes.ts";
import { generated } from "../../task/generated.ts";
import { codeReminder } from "../../tool/code-tools/code-reminder.ts";
import { codeTools } from "../../tool/code-tools/code-tools.ts";
import { shortCodeTools } from "../../tool/code-tools/short-code-tools.ts";
import type { CodeEvent, TestsCommand } from "../../tool/code-tools/workspace.ts";
import { defaultSandbox } from "../../tool/sandbox/default-sandbox.ts";
import { sandboxInfo } from "../../tool/sandbox/require-level.ts";
import type { Box, Sandbox } from "../../tool/sandbox/sandbox.ts";
import { defineEnv } from "../define-env.ts";
import type { Env, FinishedEpisode } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import type { Style } from "./moves.ts";
import { fixBug, listActions, type RepositoryProgress, rightFiles } from "./repository-expert.ts";
import { commitsOf, gitFolder } from "./repository-history.ts";
import { visibleJavaScriptTests } from "./repository-javascript.ts";
import { type BugKind, bugKinds } from "./repository-mutations.ts";
import { type RepositoryLanguage, repositoryLanguages } from "./repository-program.ts";
import { drawRepository, type RepositoryTask } from "./repository-tasks.ts";
import { passesHidden, sourceFiles, visibleTestsProgram } from "./repository-tests.ts";

export interface RepositoriesOptions {
  style: Style;
  /** 1 to 3: a repository of `level` modules that call each other and one beside them, tests `level - 1` calls away from the bug. */
  levels: readonly number[];
  kinds: readonly BugKind[];
  /** `python`, `javascript`, or both; Python by default. Tests of JavaScript need `node` in the boxes of the rollout. */
  languages: readonly RepositoryLanguage[];
  /** Whether the box has a git history: how the modules came, and the change that brought the bug. For the shell of tags style; `false` by default. */
  history: boolean;
  /** Whether a comment in each function says what it should do; otherwise tests alone tell. */
  explained: boolean;
  turns: number;
  /** One command; 90 seconds, as in R2E-Gym, by default. */
  stepMs: number;
  /** Running the hidden tests. */
  rewardMs: number;
  /** Where the hidden tests run; `bubblewrapSandbox()` by default. Tools run in that of the rollout. */
  sandbox?: Sandbox;
  seed: number;
}

const knownRepositoriesOptions: KnownOptions<RepositoriesOptions> = {
  style: true,
  levels: true,
  kinds: true,
  languages: true,
  history: true,
  explained: true,
  turns: true,
  stepMs: true,
  rewardMs: true,
  sandbox: true,
  seed: true,
};

const defaults: RepositoriesOptions = {
  style: "compact",
  levels: [1, 2, 3],
  kinds: bugKinds,
  languages: ["python"],
  history: false,
  explained: true,
  turns: 12,
  stepMs: 90_000,
  rewardMs: 300_000,
  seed: 0,
};

export interface RepositoryState extends RepositoryProgress {
  readonly language: RepositoryLanguage;
  /** What the box begins with. */
  readonly given: Readonly<Record<string, string | Uint8Array>>;
  /** The box, once a shell was used in it: what is there may be different from `files`. */
  shellBox: Box | undefined;
}

type Finished = FinishedEpisode<RepositoryTask, RepositoryState>;

const lastTokens = 512;

/**
 * Small Python or JavaScript repositories with a bug made by mutation, in the manner of R2E-Gym: run the tests, find the bug, fix it, `finish`. Tools run in the
 * episode's box. The score is 1 where hidden tests pass: other calls than those of the repository's own tests, run in a box of their own. Bugs of
 * the split `test` are never trained on.
 */
export function repositories(options: Partial<RepositoriesOptions> = {}): Env<RepositoryTask, RepositoryState> {
  refuseUnknownOptions("repositories", options, knownRepositoriesOptions);
  const chosen = { ...defaults, ...options };
  const { style, turns, stepMs, rewardMs, seed, sandbox } = chosen;
  checkOptions(chosen);
  const toolOptions = {
    files: (state: RepositoryState) => state.given,
    tests: ({ language }: RepositoryState) => testCommands[language],
    stepMs,
    note: keepProgress,
  };
  return defineEnv<RepositoryTask, RepositoryState>({
    name: "repositories",
    description: "Find the bug in a small repository, fix it and run the tests",
    tasks: generated((rng) => drawRepository(rng, chosen), {
      name: "repositories",
      seed,
      key: ({ bug }) => `${bug.right} -> ${bug.wrong}`,
    }),
    ...defined({ system: style === "tags" ? introduction : undefined }),
    start: ({ task }) => ({
      state: begin(task, chosen.history),
      say: style === "tags" ? issueText(task.files) : Object.keys(task.files).join(" "),
    }),
    tools:
      style === "tags"
        ? codeTools(toolOptions)
        : shortCodeTools({ ...toolOptions, extension: ({ language }) => extensions[language] }),
    score: Object.assign((episode: Finished) => score(episode, sandbox), {
      sandboxes: [sandboxInfo(sandbox ?? defaultSandbox())],
    }),
    ...defined({ remind: style === "tags" ? codeReminder(lastTokens) : undefined }),
    expert: (context) => fixBug(context, style),
    actions: (context) => listActions(context, style),
    stateKey: ({ files, viewed, tested }) => JSON.stringify([tested, [...viewed].sort(), files]),
    limits: {
      turns,
      toolMs: stepMs,
      envMs: rewardMs,
      tokens: style === "tags" ? 8_192 : 1_024,
      turnTokens: style === "tags" ? 512 : 64,
    },
    format: style === "tags" ? hermes() : compact(),
  });
}

const testCommands: Readonly<Record<RepositoryLanguage, TestsCommand>> = {
  python: { command: "python3", args: ["-c", visibleTestsProgram] },
  javascript: { command: "node", args: ["-e", visibleJavaScriptTests] },
};
const extensions: Readonly<Record<RepositoryLanguage, string>> = { python: ".py", javascript: ".js" };

function begin(task: RepositoryTask, history: boolean): RepositoryState {
  const { files, bug, language } = task;
  const git = history ? gitFolder(commitsOf(files, bug, rightFiles(task)[bug.path]!)) : {};
  return {
    language,
    given: { ...files, ...git },
    files: { ...files },
    viewed: new Set(),
    tested: "never",
    shellBox: undefined,
  };
}

function checkOptions({ levels, kinds, languages, turns, stepMs, rewardMs }: RepositoriesOptions): void {
  checkWholeOptions("repositories", {
    turns: [turns, 1, 1000],
    stepMs: [stepMs, 1, 3_600_000],
    rewardMs: [rewardMs, 1, 3_600_000],
    "levels.length": [levels.length, 1, 100],
    "kinds.length": [kinds.length, 1, 100],
    "languages.length": [languages.length, 1, 100],
  });
  for (const level of levels) checkWholeOptions("repositories", { levels: [level, 1, 3] });
  refuseOther("kinds", kinds, bugKinds);
  refuseOther("languages", languages, repositoryLanguages);
}

function refuseOther<Value extends string>(option: string, given: readonly Value[], known: readonly Value[]): void {
  const unknown = given.find((each) => !known.includes(each));
  if (unknown === undefined) return;
  throw new LudusError("bad-option", { got: `${option} = ${unknown} of repositories`, expected: known.join(", ") });
}

function keepProgress(state: RepositoryState, event: CodeEvent, box: Box): void {
  switch (event.kind) {
    case "viewed":
      state.viewed.add(event.path);
      return;
    case "edited":
      state.files[event.path] = event.text;
      state.tested = state.tested === "never" ? "never" : "before-edit";
      return;
    case "tested":
      state.tested = event.passed ? "passed" : "failed";
      return;
    case "shell":
      state.shellBox = box;
      return;
    default:
      event satisfies never;
  }
}

async function score({ task, state, signal }: Finished, sandbox: Sandbox | undefined): Promise<number> {
  const files = state.shellBox === undefined ? state.files : await sourceFiles(state.shellBox, task.language, signal);
  // the bug is there: hidden tests failed with these files when the task was made
  if (isSame(files, task.files)) return 0;
  return (await passesHidden({ ...task, files }, { sandbox, signal })) ? 1 : 0;
}

function isSame(files: Readonly<Record<string, string>>, given: Readonly<Record<string, string>>): boolean {
  const paths = new Set([...Object.keys(files), ...Object.keys(given)]);
  return [...paths].every((path) => files[path] === given[path]);
}

const introduction = [
  "You fix a bug in a small repository. Exactly one line is wrong.",
  "Look at the failing tests, find the wrong line, replace it, run the tests again, then call finish.",
  "Other tests than those of the repository decide: make the code do what its comments say, whatever its own tests say.",
].join("\n");

function issueText(files: Readonly<Record<string, string>>): string {
  return `Some tests of this repository fail. Find out why and fix it.\nFiles: ${Object.keys(files).join(", ")}`;
}
