import { defineEnv, type Env, generated, type Rng, type Score } from "ludus";
import { runLines } from "../lines.ts";
import { type ConsistentBug, check, failingTests, type TestId } from "./checks.ts";
import {
  applyEdits,
  drawLine,
  drawRepository,
  fileNames,
  type Repository,
  readEdits,
  type Sources,
  shown,
} from "./language.ts";

export interface BreakTask {
  readonly kind: "break";
  readonly repository: Repository;
}

export interface MendTask {
  readonly kind: "mend";
  readonly repository: Repository;
  readonly buggy: Sources;
  readonly hidden: readonly TestId[];
}

export type SelfPlayTask = BreakTask | MendTask;

interface SelfPlayState {
  said: string;
}

/** What a bug that passes the checks is worth; asked with a task for solvers. */
export type Worth = (bug: MendTask, signal: AbortSignal) => number | Promise<number>;

export interface SelfPlayOptions {
  kinds: readonly SelfPlayTask["kind"][];
  worth?: Worth;
}

/** A line replaced by another, which fails tests. */
function drawBug(rng: Rng, { sources }: Repository): { text: string; bug: ConsistentBug } {
  for (;;) {
    const file = rng.integer(fileNames.length);
    const text = `${fileNames[file]}${1 + rng.integer(2)}>${drawLine(rng)} 12 ${file + 1}`;
    const bug = check(sources, text);
    if (typeof bug !== "string") return { text, bug };
  }
}

function drawSelfPlay(rng: Rng, kinds: SelfPlayOptions["kinds"]): SelfPlayTask {
  const repository = drawRepository(rng);
  const kind = kinds[rng.integer(kinds.length)]!;
  return kind === "break" ? { kind, repository } : mendTask(repository, drawBug(rng, repository).bug);
}

export const mendTask = (repository: Repository, { buggy, hidden }: ConsistentBug): MendTask => ({
  ...{ kind: "mend", repository },
  ...{ buggy, hidden },
});

/** The solver's specification is the weakening, reversed: tests that were taken out, with what they should give. No words about the bug. */
function say(task: SelfPlayTask): string {
  const { repository } = task;
  if (task.kind === "break") return `b\n${shown(repository, repository.sources)}`;
  const tests = fileNames.flatMap((file) => task.hidden.find((test) => test.file === file) ?? []);
  const wanted = tests.map(({ file, input }) => `${file}(${input})=${runLines(repository.sources[file], input, 1)}`);
  return `m\n${shown(repository, task.buggy)}\n${wanted.join("\n")}`;
}

/** What a solver leaves; undefined where it said no edit. It can name lines of the two files alone: tests are those of the original. */
export function mended(task: MendTask, said: string): Sources | undefined {
  const edits = readEdits(said);
  return edits === undefined ? undefined : applyEdits(task.buggy, edits);
}

export function isMended(task: MendTask, said: string): boolean {
  const now = mended(task, said);
  return now !== undefined && failingTests(task.repository.sources, now, fileNames)?.length === 0;
}

async function score(task: SelfPlayTask, said: string, worth: Worth, signal: AbortSignal): Promise<Score> {
  if (task.kind === "mend") {
    const success = isMended(task, said);
    return { total: success ? 1 : -1, parts: { outcome: success ? 1 : -1 }, success };
  }
  const bug = check(task.repository.sources, said);
  const outcome = typeof bug === "string" ? -1 : await worth(mendTask(task.repository, bug), signal);
  return { total: outcome, parts: { outcome }, success: typeof bug !== "string" };
}

function expert({ task, rng }: { task: SelfPlayTask; rng: Rng }): string {
  const { repository } = task;
  if (task.kind === "break") return drawBug(rng, repository).text;
  const edits = fileNames.flatMap((file) =>
    repository.sources[file].flatMap((line, i) => (line === task.buggy[file][i] ? [] : [`${file}${i + 1}>${line}`])),
  );
  return edits.join(";");
}

/** A line somewhere, which may be the wrong one; for an injector with test files that may not be its. */
function someActions({ task, rng }: { task: SelfPlayTask; rng: Rng }): string[] {
  const edit = `${fileNames[rng.integer(2)]}${1 + rng.integer(2)}>${drawLine(rng)}`;
  return [task.kind === "mend" ? edit : `${edit} ${["12", "1", "2"][rng.integer(3)]} ${1 + rng.integer(2)}`];
}

/** Both roles of self-play, which one policy plays: `b` asks for a bug, `m` for mending one. */
export function selfPlay({ kinds, worth = () => 0 }: SelfPlayOptions): Env<SelfPlayTask, SelfPlayState> {
  return defineEnv<SelfPlayTask, SelfPlayState>({
    name: "self-play",
    description: "Put a bug into a small program, or mend one",
    tasks: generated((rng) => drawSelfPlay(rng, kinds), {
      name: `self-play-${kinds.join("-")}`,
      key: ({ repository }) => JSON.stringify(repository.sources),
    }),
    start: ({ task }) => ({ state: { said: "" }, say: say(task) }),
    act({ state, answer }) {
      state.said = answer;
      return { done: true };
    },
    score: ({ task, state, signal }) => score(task, state.said, worth, signal),
    expert,
    actions: someActions,
    limits: { turns: 1, turnTokens: 40, tokens: 256, envMs: 120_000 },
  });
}
