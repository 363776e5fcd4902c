import { type ActContext, type Acted, defineEnv, type Env, generated, type Rng } from "ludus";
import { runLines } from "../lines.ts";
import { drawTask, evaluator, sloppy } from "../programs.ts";

/** A repository: a file for each function, `h` calls `f`. Lines stand behind the words for what they should do. */
export interface RepositoryTask {
  readonly files: Readonly<Record<string, readonly Line[]>>;
  readonly bug: { readonly file: string; readonly line: number; readonly wrong: string };
}

interface Line {
  readonly words: string;
  readonly line: string;
}

type Sources = Readonly<Record<string, readonly string[]>>;

export interface RepositoryState {
  sources: Sources;
  /** The file that is open. */
  open: string | undefined;
  isTested: boolean;
  isDone: boolean;
}

const names = ["f", "g", "h"] as const;
/** What the tests of the repository try, and what the hidden ones do. */
const visible = [4, 9];
const hidden = [0, 1, 6, 13];

const sourcesOf = ({ files }: RepositoryTask): Sources =>
  Object.fromEntries(Object.entries(files).map(([name, lines]) => [name, lines.map(({ line }) => line)]));

const withLine = (sources: Sources, file: string, line: number, text: string): Sources => ({
  ...sources,
  [file]: sources[file]!.with(line, text),
});

const givenOf = (task: RepositoryTask): Sources =>
  withLine(sourcesOf(task), task.bug.file, task.bug.line, task.bug.wrong);

export function drawRepository(rng: Rng): RepositoryTask {
  const own = names.map(() => drawTask(rng, [2]).steps);
  const files = { f: own[0]!, g: own[1]!, h: [{ words: "f", line: "a=f(a)" }, own[2]![1]!] };
  for (;;) {
    const file = names[rng.integer(names.length)]!;
    const line = file === "h" ? 1 : rng.integer(2);
    const wrong = drawTask(rng, [1]).steps[0]!.line;
    const task = { files, bug: { file, line, wrong } };
    if (failingOf(ownValues(givenOf(task)), task).length > 0) return task;
  }
}

/** The Python of a repository: a function for each file. */
export function pythonOf(sources: Sources): string {
  return Object.entries(sources)
    .map(([name, lines]) => [`def ${name}(a):`, ...lines.map((line) => ` ${line}`), " return a"].join("\n"))
    .join("\n");
}

export interface Verdict {
  /** Functions whose own tests fail; all of them where nothing runs. */
  readonly failing: readonly string[];
  readonly passesHidden: boolean;
}

const inputs = [...visible, ...hidden];
type Values = readonly unknown[];

const kept = new Map<string, Promise<Values | undefined>>();
const mostKept = 100_000;

/** What each function gives for each input, in a box; undefined where nothing runs. What is expected never enters; the same sources are run once. */
function valuesOf(sources: Sources): Promise<Values | undefined> {
  const code = pythonOf(sources);
  const known = kept.get(code);
  if (known !== undefined) return known;
  const calls = names.flatMap((name) => inputs.map((input) => `tried(${name}, ${input})`));
  const tried = "def tried(f, a):\n try:\n  return f(a)\n except Exception:\n  return None";
  const running = evaluator()
    .evaluate(`${tried}\n${code}`, `[${calls.join(", ")}]`)
    .then((result) => (result.kind === "value" && Array.isArray(result.value) ? result.value : undefined));
  if (kept.size < mostKept) kept.set(code, running);
  // where the box failed, it is to be tried again
  running.catch(() => kept.delete(code));
  return running;
}

/** The same of sources that were made here, which need no box. */
export function ownValues({ f, g, h }: Sources): Values {
  const ofH = (input: number) => {
    const given = runLines(f!, input);
    return given === undefined ? undefined : runLines(h!.slice(1), given);
  };
  const each = [(input: number) => runLines(f!, input), (input: number) => runLines(g!, input), ofH];
  return each.flatMap((run) => inputs.map((input) => run(input) ?? null));
}

/** By the tests: what functions give, beside what they would give without the bug. */
export async function judge(task: RepositoryTask, sources: Sources): Promise<Verdict> {
  const isOwn = [sourcesOf(task), givenOf(task)].some((own) => pythonOf(own) === pythonOf(sources));
  const got = isOwn ? ownValues(sources) : await valuesOf(sources);
  if (got === undefined) return { failing: names, passesHidden: false };
  return { failing: failingOf(got, task), passesHidden: areSame(got, task, visible.length, inputs.length) };
}

/** Of each function, whether all inputs from one to another give what they should. */
function areSame(got: Values, task: RepositoryTask, from: number, to: number, only?: number): boolean {
  const right = ownValues(sourcesOf(task));
  return names.every((_, n) => {
    const at = n * inputs.length;
    return (
      (only ?? n) !== n || inputs.slice(from, to).every((_input, i) => got[at + from + i] === right[at + from + i])
    );
  });
}

const failingOf = (got: Values, task: RepositoryTask) =>
  names.filter((_, n) => !areSame(got, task, 0, visible.length, n));

async function act({ task, state, answer }: ActContext<RepositoryTask, RepositoryState>): Promise<Acted> {
  if (answer === "t") {
    const { failing } = await judge(task, state.sources);
    state.isTested = failing.length === 0;
    return { say: failing.length === 0 ? "passed" : `failed ${failing.join("")}` };
  }
  if (answer === "d") {
    state.isDone = true;
    const { failing } = await judge(task, state.sources);
    // for whoever chooses among attempts: nobody who acts is told
    return { done: true, info: { passes: failing.length === 0 } };
  }
  const looked = /^v ([fgh])$/.exec(answer)?.[1];
  if (looked !== undefined) {
    state.open = looked;
    const words = task.files[looked]!;
    return { say: state.sources[looked]!.map((line, i) => `${words[i]!.words}: ${line}`).join("\n") };
  }
  const [, line, text] = /^e ([12]) (.{1,20})$/.exec(answer) ?? [];
  if (line === undefined || state.open === undefined) return { say: "?" };
  state.sources = withLine(state.sources, state.open, Number(line) - 1, text!);
  state.isTested = false;
  return { say: "ok" };
}

/** Tests, looks at the file, puts back what is wrong there, tests again, ends. */
function expert({ task, state, turn }: { task: RepositoryTask; state: RepositoryState; turn: number }): string {
  if (turn === 0) return "t";
  const wanted = sourcesOf(task);
  const file = names.find((name) => state.sources[name]!.some((line, i) => line !== wanted[name]![i]));
  if (file === undefined) return state.isTested ? "d" : "t";
  if (state.open !== file) return `v ${file}`;
  const line = state.sources[file]!.findIndex((each, i) => each !== wanted[file]![i]);
  return `e ${line + 1} ${wanted[file]![line]}`;
}

function someActions({ task, state, rng }: { task: RepositoryTask; state: RepositoryState; rng: Rng }): string[] {
  const file = state.open ?? "f";
  const line = rng.integer(2);
  const edit = `e ${line + 1} ${sloppy(task.files[file]![line]!.line, rng)}`;
  return ["t", "d", ...names.map((name) => `v ${name}`), ...(state.open === undefined ? [] : [edit, edit])];
}

/**
 * Small Python repositories with one wrong line: `t` tests, `v f` looks at a file, `e 2 a=a+3` replaces a line of it, `d` ends. The reward is 1 where
 * hidden tests pass and the end was said, else 0. An episode has some 20 sampled tokens.
 */
export function smallRepositories(turns = 7): Env<RepositoryTask, RepositoryState> {
  return defineEnv<RepositoryTask, RepositoryState>({
    name: "small-repositories",
    description: "Mend the wrong line of a small Python repository",
    tasks: generated(drawRepository, { name: "small-repositories", key: (task) => JSON.stringify(task) }),
    start: ({ task }) => ({
      state: { sources: givenOf(task), open: undefined, isTested: false, isDone: false },
      say: names.join(" "),
    }),
    act,
    score: async ({ task, state }) => (state.isDone && (await judge(task, state.sources)).passesHidden ? 1 : 0),
    expert,
    actions: someActions,
    limits: { turns, turnTokens: 24, tokens: 256, envMs: 120_000 },
  });
}
