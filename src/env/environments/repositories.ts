import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { compact } from "../../policy/formats/compact.ts";
import { hermes } from "../../policy/formats/hermes.ts";
import { generated } from "../../task/generated.ts";
import { codeReminder } from "../../tool/code-tools/code-reminder.ts";
import { codeTools } from "../../tool/code-tools/code-tools.ts";
import { shortCodeTools } from "../../tool/code-tools/short-code-tools.ts";
import type { CodeEvent } from "../../tool/code-tools/workspace.ts";
import { defaultSandbox } from "../../tool/sandbox/default-sandbox.ts";
import { sandboxInfo } from "../../tool/sandbox/require-level.ts";
import type { Box, Sandbox } from "../../tool/sandbox/sandbox.ts";
import { defineEnv } from "../define-env.ts";
import type { Env, FinishedEpisode } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import type { Style } from "./moves.ts";
import { fixBug, listActions, type RepositoryProgress } from "./repository-expert.ts";
import { type BugKind, bugKinds } from "./repository-mutations.ts";
import { drawRepository, type RepositoryTask } from "./repository-tasks.ts";
import { passesHidden, pythonFiles, visibleTestsProgram } from "./repository-tests.ts";

export interface RepositoriesOptions {
  style: Style;
  /** 1 to 3: a repository of `level` modules that call each other and one beside them, tests `level - 1` calls away from the bug. */
  levels: readonly number[];
  kinds: readonly BugKind[];
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
  explained: true,
  turns: 12,
  stepMs: 90_000,
  rewardMs: 300_000,
  seed: 0,
};

export interface RepositoryState extends RepositoryProgress {
  /** What the box begins with. */
  readonly given: RepositoryTask["files"];
  /** The box, once a shell was used in it: what is there may be different from `files`. */
  shellBox: Box | undefined;
}

type Finished = FinishedEpisode<RepositoryTask, RepositoryState>;

const lastTokens = 512;

/**
 * Small Python repositories with a bug made by mutation, in the manner of R2E-Gym: run the tests, find the bug, fix it, `finish`. Tools run in the
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
    tests: { command: "python3", args: ["-c", visibleTestsProgram] },
    stepMs,
    note: keepProgress,
  };
  return defineEnv<RepositoryTask, RepositoryState>({
    name: "repositories",
    description: "Find the bug in a small Python repository, fix it and run the tests",
    tasks: generated((rng) => drawRepository(rng, chosen), {
      name: "repositories",
      seed,
      key: ({ bug }) => `${bug.right} -> ${bug.wrong}`,
    }),
    ...defined({ system: style === "tags" ? introduction : undefined }),
    start: ({ task: { files } }) => ({
      state: { given: files, files: { ...files }, viewed: new Set(), tested: "never", shellBox: undefined },
      say: style === "tags" ? issueText(files) : Object.keys(files).join(" "),
    }),
    tools: style === "tags" ? codeTools(toolOptions) : shortCodeTools(toolOptions),
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

function checkOptions({ levels, kinds, turns, stepMs, rewardMs }: RepositoriesOptions): void {
  checkWholeOptions("repositories", {
    turns: [turns, 1, 1000],
    stepMs: [stepMs, 1, 3_600_000],
    rewardMs: [rewardMs, 1, 3_600_000],
    "levels.length": [levels.length, 1, 100],
    "kinds.length": [kinds.length, 1, 100],
  });
  for (const level of levels) checkWholeOptions("repositories", { levels: [level, 1, 3] });
  const unknown = kinds.find((kind) => !bugKinds.includes(kind));
  if (unknown === undefined) return;
  throw new LudusError("bad-option", { got: `kinds = ${unknown} of repositories`, expected: bugKinds.join(", ") });
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
  const files = state.shellBox === undefined ? state.files : await pythonFiles(state.shellBox, signal);
  // the bug is there: hidden tests failed with these files when the task was made
  if (isSame(files, task.files)) return 0;
  return (await passesHidden(files, task.hidden, { sandbox, signal })) ? 1 : 0;
}

function isSame(files: Readonly<Record<string, string>>, given: Readonly<Record<string, string>>): boolean {
  const paths = new Set([...Object.keys(files), ...Object.keys(given)]);
  return [...paths].every((path) => files[path] === given[path]);
}

const introduction = [
  "You fix a bug in a small Python repository. Exactly one line is wrong.",
  "Look at the failing tests, find the wrong line, replace it, run the tests again, then call finish.",
  "Other tests than those of the repository decide: make the code do what its comments say, whatever tests.py has.",
].join("\n");

function issueText(files: Readonly<Record<string, string>>): string {
  return `Some tests of this repository fail. Find out why and fix it.\nFiles: ${Object.keys(files).join(", ")}`;
}
