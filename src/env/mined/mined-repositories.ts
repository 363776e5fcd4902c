import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { hermes } from "../../policy/formats/hermes.ts";
import { listed } from "../../task/listed.ts";
import { codeReminder } from "../../tool/code-tools/code-reminder.ts";
import { codeTools } from "../../tool/code-tools/code-tools.ts";
import type { CodeEvent } from "../../tool/code-tools/workspace.ts";
import { defaultSandbox } from "../../tool/sandbox/default-sandbox.ts";
import { sandboxInfo } from "../../tool/sandbox/require-level.ts";
import type { Box, Sandbox } from "../../tool/sandbox/sandbox.ts";
import { defineEnv } from "../define-env.ts";
import type { Env, FinishedEpisode } from "../env.ts";
import { checkWholeOptions } from "../environments/check-options.ts";
import { type MinedTask, withChanged, withTests } from "./mine-repository.ts";
import { nodeTestRunner, pythonTestRunner, runTestFiles, type TestRunLimits, type TestRunner } from "./test-runner.ts";

export interface MinedRepositoriesOptions {
  tasks: readonly MinedTask[] | Readonly<Record<string, readonly MinedTask[]>>;
  runners: readonly TestRunner[];
  turns: number;
  /** One command; 90 seconds, as in R2E-Gym, by default. */
  stepMs: number;
  /** Running the tests of the fix. */
  rewardMs: number;
  memoryMb: number;
  /** Where the tests of the fix run; `bubblewrapSandbox()` by default. Tools run in that of the rollout. */
  sandbox?: Sandbox;
  seed: number;
}

const knownMinedOptions: KnownOptions<MinedRepositoriesOptions> = {
  tasks: true,
  runners: true,
  turns: true,
  stepMs: true,
  rewardMs: true,
  memoryMb: true,
  sandbox: true,
  seed: true,
};

const defaults = {
  runners: [pythonTestRunner, nodeTestRunner] as readonly TestRunner[],
  turns: 50,
  stepMs: 90_000,
  rewardMs: 300_000,
  memoryMb: 1_024,
  seed: 0,
};

export interface MinedState {
  readonly given: MinedTask["files"];
  readonly runner: string;
  readonly edited: Record<string, string>;
  /** The box, once a shell was used in it: what is there may be different from what was edited. */
  shellBox: Box | undefined;
}

type Finished = FinishedEpisode<MinedTask, MinedState>;

const lastTokens = 4_096;

/**
 * Fixes of a repository's history, to be made again: the repository before the fix, with the message of the commit as the issue. The score is 1
 * where all tests of the fix pass that passed with it, in a box of its own; files of tests are those of the fix, whatever the policy made of them. Unlike in
 * `repositories()`, these tests compare inside the process of the code. So they run once more with other expected values, in another box, and
 * code that passes those too (it replaced assertions, or equals everything, or looked for its test's values) is paid nothing.
 */
export function minedRepositories(
  options: Partial<MinedRepositoriesOptions> & Pick<MinedRepositoriesOptions, "tasks">,
): Env<MinedTask, MinedState> {
  refuseUnknownOptions("minedRepositories", options, knownMinedOptions);
  const chosen = { ...defaults, ...options };
  const { tasks, turns, stepMs, rewardMs, memoryMb, seed } = chosen;
  checkWholeOptions("minedRepositories", {
    turns: [turns, 1, 10_000],
    stepMs: [stepMs, 1, 3_600_000],
    rewardMs: [rewardMs, 1, 3_600_000],
    memoryMb: [memoryMb, 16, 1 << 20],
  });
  const toolOptions = {
    files: (state: MinedState) => state.given,
    tests: ({ given, runner }: MinedState) => {
      const found = runnerOf(chosen.runners, runner);
      const tests = Object.keys(given).filter((path) => found.isTest(path));
      return (found.shown ?? found.command)(tests);
    },
    stepMs,
    note: keepEdits,
  };
  return defineEnv<MinedTask, MinedState>({
    name: "mined-repositories",
    description: "Fix what an issue of a repository tells",
    tasks: listed(tasks, { name: "mined-repositories", seed }),
    system: introduction,
    start: ({ task: { files, statement, runner } }) => ({
      state: { given: files, runner, edited: { ...files }, shellBox: undefined },
      say: `${statement}\n\nFiles:\n${Object.keys(files).join("\n")}`,
    }),
    tools: codeTools(toolOptions),
    score: Object.assign((episode: Finished) => score(episode, chosen), {
      sandboxes: [sandboxInfo(chosen.sandbox ?? defaultSandbox())],
    }),
    remind: codeReminder(lastTokens),
    limits: { turns, toolMs: stepMs, envMs: rewardMs, tokens: 32_768, turnTokens: 4_096 },
    format: hermes(),
  });
}

const introduction = [
  "You fix a bug in a repository. Read the issue, find the cause, edit the sources, then call finish.",
  "Tests that are not in the repository yet decide. Changes of files of tests count for nothing.",
].join("\n");

function keepEdits(state: MinedState, event: CodeEvent, box: Box): void {
  if (event.kind === "edited") state.edited[event.path] = event.text;
  if (event.kind === "shell") state.shellBox = box;
}

function runnerOf(runners: readonly TestRunner[], wanted: string): TestRunner {
  const found = runners.find(({ name }) => name === wanted);
  if (found !== undefined) return found;
  throw new LudusError("unknown-runner", {
    got: `"${wanted}"`,
    expected: `one of ${runners.map(({ name }) => name).join(", ")}`,
    hint: "Give the runners that the repository was mined with as `runners`.",
  });
}

interface Scoring {
  readonly runners: readonly TestRunner[];
  readonly rewardMs: number;
  readonly memoryMb: number;
  readonly sandbox?: Sandbox;
}

async function score(
  { task, state, signal }: Finished,
  { runners, rewardMs, memoryMb, sandbox = defaultSandbox() }: Scoring,
): Promise<number> {
  const files = state.shellBox === undefined ? state.edited : await textFilesOf(state.shellBox, signal);
  const limits = { timeoutMs: rewardMs, memoryMb };
  return (await passesTests(task, files, { runner: runnerOf(runners, task.runner), sandbox, limits, signal })) ? 1 : 0;
}

interface Judging {
  readonly runner: TestRunner;
  readonly sandbox: Sandbox;
  readonly limits: TestRunLimits;
  readonly signal?: AbortSignal;
}

type Judged = Pick<MinedTask, "tests" | "failToPass" | "passToPass" | "canaries">;

/** Whether these sources pass the tests of a fix, and none of its canaries. */
export async function passesTests(
  { tests, failToPass, passToPass, canaries = [] }: Judged,
  files: Readonly<Record<string, string>>,
  { runner, sandbox, limits, signal }: Judging,
): Promise<boolean> {
  const run = (put: Readonly<Record<string, string>>) =>
    runTestFiles(withTests(files, put, runner), runner, { sandbox, limits, hashSeed: "3", ...defined({ signal }) });
  const { passed } = await run(tests);
  if (![...failToPass, ...passToPass].every((name) => passed.get(name) === true)) return false;
  if (canaries.length === 0) return true;
  const changed = await run(withChanged(tests));
  // one that is not told has been kept from failing
  return canaries.every((name) => changed.passed.get(name) === false);
}

const maxFiles = 2_000;
const maxFileBytes = 1 << 20;

/** What a shell may have left in a box, as far as it is text. */
async function textFilesOf(box: Box, signal: AbortSignal): Promise<Record<string, string>> {
  const args = [".", "-name", ".git", "-prune", "-o", "-type", "f", "-size", `-${maxFileBytes}c`, "-print0"];
  const { stdout } = await box.exec("find", { args, signal });
  const files: Record<string, string> = {};
  for (const path of stdout.split("\0").filter(Boolean).sort().slice(0, maxFiles)) {
    const bytes = await box.read(path.slice(2)).catch(() => undefined);
    if (bytes !== undefined && !bytes.includes(0)) files[path.slice(2)] = new TextDecoder().decode(bytes);
  }
  return files;
}
