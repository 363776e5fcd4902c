import { randomInt } from "node:crypto";
import { basename, resolve } from "node:path";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { defaultSandbox } from "../../tool/sandbox/default-sandbox.ts";
import type { Sandbox } from "../../tool/sandbox/sandbox.ts";
import { checkWholeOptions } from "../environments/check-options.ts";
import type { SweBenchTask } from "../environments/swe-bench-tasks.ts";
import { changeExpected } from "./changed-tests.ts";
import { type GitCommit, GitRepository } from "./read-git.ts";
import { nodeTestRunner, pythonTestRunner, runTestFiles, type TestRun, type TestRunner } from "./test-runner.ts";

export interface MineOptions {
  /** Where to begin; `HEAD` by default. */
  revision: string;
  /** Commits to look at, the newest first, merges left out. */
  commits: number;
  /** Which messages are those of a fix. */
  message: RegExp;
  /** Repositories with more files are left out. */
  maxFiles: number;
  /** The first whose files of tests a commit has; Python and Node by default. */
  runners: readonly TestRunner[];
  /** One run of the tests; six runs are made for a commit. */
  timeoutMs: number;
  memoryMb: number;
  /** Where tests run; `bubblewrapSandbox()` by default. */
  sandbox?: Sandbox;
  /** Called after each commit. */
  onCommit?: (commit: MinedCommit) => void;
}

const knownMineOptions: KnownOptions<MineOptions> = {
  revision: true,
  commits: true,
  message: true,
  maxFiles: true,
  runners: true,
  timeoutMs: true,
  memoryMb: true,
  sandbox: true,
  onCommit: true,
};

const defaults: MineOptions = {
  revision: "HEAD",
  commits: 1_000,
  message: /\b(bugs?|fix(e[sd])?|correct(s|ed)?|repairs?|regressions?|wrong|broken|crash(es)?)\b/i,
  maxFiles: 2_000,
  runners: [pythonTestRunner, nodeTestRunner],
  timeoutMs: 60_000,
  memoryMb: 1_024,
};

/** A fix from a history. `commit` is the one before it. */
export interface MinedTask extends SweBenchTask {
  /** The commit of the fix. */
  readonly fixCommit: string;
  /** The name of the runner. */
  readonly runner: string;
  /** The repository before the fix, with the tests it had then; by path. Links, large files and those that are no text are left out. */
  readonly files: Readonly<Record<string, string>>;
  /** The files of tests after the fix. */
  readonly tests: Readonly<Record<string, string>>;
  /** Tests that the fix fails where other values are expected (`changeExpected`): whatever passes those too is not paid. None where it is left out. */
  readonly canaries?: readonly string[];
}

/** What became of a commit. */
export type MinedCommit =
  | { readonly commit: string; readonly kind: "task"; readonly task: MinedTask }
  | { readonly commit: string; readonly kind: "left-out"; readonly why: LeftOut; readonly detail?: string };

export type LeftOut =
  | "message"
  | "first-commit"
  | "no-source-changed"
  | "no-tests"
  | "too-many-files"
  | "not-text"
  | "bad-path"
  /** No test that failed before it passes after it. */
  | "fixes-no-test"
  /** A test that passed before it fails after it. */
  | "breaks-a-test";

export interface MinedRepository {
  readonly tasks: readonly MinedTask[];
  readonly commits: readonly MinedCommit[];
}

/**
 * Tasks from a git history: commits with the message of a fix whose tests fail on the sources before it and pass on those after it. Both are run
 * twice, in boxes, with different hash seeds; a test that differs between the two runs counts for nothing.
 *
 *     const { tasks, commits } = await mineRepository("../my-project", { commits: 500 });
 *     const env = minedRepositories({ tasks });
 */
export async function mineRepository(
  path: string,
  options: Partial<MineOptions> = {},
  signal?: AbortSignal,
): Promise<MinedRepository> {
  refuseUnknownOptions("mineRepository", options, knownMineOptions);
  const chosen = { ...defaults, ...options };
  const { commits: most, maxFiles, timeoutMs, memoryMb, runners } = chosen;
  checkWholeOptions("mineRepository", {
    commits: [most, 1, 10_000_000],
    maxFiles: [maxFiles, 1, 100_000],
    timeoutMs: [timeoutMs, 1, 3_600_000],
    memoryMb: [memoryMb, 16, 1 << 20],
    "runners.length": [runners.length, 1, 100],
  });
  const repository = new GitRepository(path, signal);
  const miner: Miner = { ...chosen, name: basename(resolve(path)), repository, signal };
  const mined: MinedCommit[] = [];
  for (const commit of await repository.commits(chosen.revision, most)) {
    signal?.throwIfAborted();
    const found = { commit: commit.id, ...(await mineCommit(miner, commit)) } as MinedCommit;
    mined.push(found);
    chosen.onCommit?.(found);
  }
  return { tasks: mined.flatMap((found) => (found.kind === "task" ? [found.task] : [])), commits: mined };
}

interface Miner extends MineOptions {
  readonly name: string;
  readonly repository: GitRepository;
  readonly signal: AbortSignal | undefined;
}

type Found = { kind: "task"; task: MinedTask } | { kind: "left-out"; why: LeftOut; detail?: string };

const leftOut = (why: LeftOut, detail?: string): Found =>
  detail === undefined ? { kind: "left-out", why } : { kind: "left-out", why, detail };

async function mineCommit(miner: Miner, commit: GitCommit): Promise<Found> {
  const { repository, maxFiles } = miner;
  const [parent] = commit.parents;
  // RegExp.test with the flag `g` would go on where it ended
  if (commit.subject.search(miner.message) < 0) return leftOut("message");
  if (parent === undefined) return leftOut("first-commit");
  const changes = await repository.changes(parent, commit.id);
  const [before, after] = [
    await repository.textFiles(parent, maxFiles),
    await repository.textFiles(commit.id, maxFiles),
  ];
  if (before === undefined || after === undefined) return leftOut("too-many-files");
  const runner = miner.runners.find((each) => Object.keys(after).some((path) => each.isTest(path)));
  if (runner === undefined) return leftOut("no-tests");
  const sources = changes.map(({ path }) => path).filter((path) => !runner.isTest(path));
  if (sources.length === 0) return leftOut("no-source-changed");
  const lost = changes.find(({ path }) => !(path in before) && !(path in after));
  if (lost !== undefined) return leftOut("not-text", lost.path);
  const tests = Object.fromEntries(Object.entries(after).filter(([path]) => runner.isTest(path)));
  try {
    return await checkCommit(miner, { commit, parent, runner, before, after, sources, tests });
  } catch (error) {
    if (error instanceof LudusError && error.code === "box-path-refused") return leftOut("bad-path", error.details.got);
    throw error;
  }
}

interface Candidate {
  readonly commit: GitCommit;
  readonly parent: string;
  readonly runner: TestRunner;
  readonly before: Readonly<Record<string, string>>;
  readonly after: Readonly<Record<string, string>>;
  readonly sources: readonly string[];
  readonly tests: Readonly<Record<string, string>>;
}

async function checkCommit(miner: Miner, candidate: Candidate): Promise<Found> {
  const { commit, parent, runner, before, after, sources, tests } = candidate;
  const good = await runTwice(miner, after, runner);
  const isFixed = [...good.passed.values()].some(Boolean);
  if (!isFixed) return leftOut("fixes-no-test", good.problem);
  const bad = await runTwice(miner, withTests(before, tests, runner), runner);
  const passing = [...good.passed].filter(([, passed]) => passed).map(([name]) => name);
  // a file of tests that cannot be imported before the fix tells none of its tests
  const failToPass = passing.filter((name) => bad.passed.get(name) !== true && !bad.flaky.has(name));
  const passToPass = passing.filter((name) => bad.passed.get(name) === true);
  const broken = [...bad.passed].find(([name, passed]) => passed && good.passed.get(name) === false);
  if (failToPass.length === 0) return leftOut("fixes-no-test");
  if (broken !== undefined) return leftOut("breaks-a-test", broken[0]);
  const canaries = await canariesOf(miner, candidate, [...failToPass, ...passToPass]);
  const changedTests = Object.keys({ ...before, ...tests }).filter((path) => runner.isTest(path));
  return {
    kind: "task",
    task: {
      id: `${miner.name}-${commit.id.slice(0, 12)}`,
      repository: miner.name,
      commit: parent,
      fixCommit: commit.id,
      statement: [commit.subject, commit.body].filter(Boolean).join("\n\n"),
      patch: await miner.repository.patch(parent, commit.id, sources),
      testPatch: await miner.repository.patch(parent, commit.id, changedTests),
      failToPass,
      passToPass,
      runner: runner.name,
      files: before,
      tests,
      canaries,
    },
  };
}

/** Of tests that pass with the fix, those that show it when other values are expected. */
async function canariesOf(miner: Miner, { after, tests, runner }: Candidate, passing: string[]): Promise<string[]> {
  const changed = withChanged(tests);
  if (Object.entries(tests).every(([path, text]) => changed[path] === text)) return [];
  const { passed } = await runTwice(miner, withTests(after, changed, runner), runner);
  return passing.filter((name) => passed.get(name) === false);
}

/** Values are drawn anew each time: nothing that was seen of them once tells what is expected. */
export function withChanged(tests: Readonly<Record<string, string>>): Record<string, string> {
  // one for all: what is expected in several places, where code can look it up, stays the same in all of them
  const added = randomInt(1, 1_000);
  return Object.fromEntries(Object.entries(tests).map(([path, text]) => [path, changeExpected(text, () => added)]));
}

/** The sources of `files` with these files of tests and no others. */
export function withTests(
  files: Readonly<Record<string, string>>,
  tests: Readonly<Record<string, string>>,
  runner: TestRunner,
): Record<string, string> {
  const sources = Object.entries(files).filter(([path]) => !runner.isTest(path));
  return { ...Object.fromEntries(sources), ...tests };
}

async function runTwice(
  { sandbox = defaultSandbox(), timeoutMs, memoryMb, signal }: Miner,
  files: Readonly<Record<string, string>>,
  runner: TestRunner,
): Promise<TestRun & { readonly flaky: ReadonlySet<string> }> {
  const run = (hashSeed: string) =>
    runTestFiles(files, runner, { sandbox, limits: { timeoutMs, memoryMb }, hashSeed, signal });
  const [one, other] = [await run("1"), await run("2")];
  const names = new Set([...one.passed.keys(), ...other.passed.keys()]);
  const flaky = new Set([...names].filter((name) => one.passed.get(name) !== other.passed.get(name)));
  return { ...one, flaky, passed: new Map([...one.passed].filter(([name]) => !flaky.has(name))) };
}
