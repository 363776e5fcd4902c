import { defineEnv, type Env, type FailedTask, generated, type HintGenerator, type Rng, scriptedHints } from "ludus";
import { type PythonEvaluator, pythonEvaluator } from "ludus/tool";

const names = ["x", "y", "z"] as const;
type Name = (typeof names)[number];
const operations = { add: "+", sub: "-", mul: "*" } as const;
type Operation = keyof typeof operations;

/** A file with one function: what its comment says, and the line it has. */
interface File {
  readonly words: string;
  readonly line: string;
}

export interface RepositoryTask {
  readonly files: Readonly<Record<Name, File>>;
  /** Which file was changed last, and before that. */
  readonly log: readonly Name[];
  /** Where the bug is: in the file that was changed last. */
  readonly bug: Name;
  readonly inputs: readonly number[];
  /** Hidden tests: what the whole gives for the inputs when every file does what it says. */
  readonly expected: readonly number[];
  /** What a demonstration says, where that is not the fix. */
  readonly shown?: string;
}

export const hintKinds = ["plan", "feedback", "environment"] as const;
export type HintKind = (typeof hintKinds)[number];

const pick = <Item>(rng: Rng, items: readonly Item[]): Item => items[rng.integer(items.length)]!;
const drawOperation = (rng: Rng) => pick(rng, Object.keys(operations) as Operation[]);
const drawNumber = (rng: Rng) => 10 + rng.integer(90);
const lineFor = (words: string) => {
  const [operation, number] = words.split(" ") as [Operation, string];
  return `a${operations[operation]}${number}`;
};
const drawWords = (rng: Rng) => `${drawOperation(rng)} ${drawNumber(rng)}`;

function shuffled(rng: Rng): Name[] {
  const left = [...names];
  return names.map(() => left.splice(rng.integer(left.length), 1)[0]!);
}

/** Three files whose functions are called one after the other. In a `strange` one no line does what its file says: nothing tells where the bug is. */
export function drawTask(rng: Rng, isStrange = false): RepositoryTask {
  const log = shuffled(rng);
  const bug = isStrange ? pick(rng, names) : log[0]!;
  const files = Object.fromEntries(
    names.map((name) => {
      const words = drawWords(rng);
      return [name, { words, line: isStrange || name === bug ? mutated(rng, lineFor(words)) : lineFor(words) }];
    }),
  ) as Record<Name, File>;
  const inputs = [0, 1, 2, 5];
  return { files, log, bug, inputs, expected: inputs.map((input) => resultOf(files, input)) };
}

/** Another number or another operation. */
function mutated(rng: Rng, line: string): string {
  for (;;) {
    const other =
      rng.integer(2) === 0
        ? `${line.slice(0, 2)}${drawNumber(rng)}`
        : line.replace(line[1]!, pick(rng, ["+", "-", "*"]));
    if (other !== line) return other;
  }
}

function resultOf(files: RepositoryTask["files"], input: number): number {
  return names.reduce((a, name) => {
    const [operation, number] = files[name].words.split(" ") as [Operation, string];
    const n = Number(number);
    return { add: a + n, sub: a - n, mul: a * n }[operation];
  }, input);
}

const promptOf = ({ files, log }: RepositoryTask) =>
  [...names.map((name) => `${name} ${files[name].words} ${files[name].line}`), `log ${log.join("")}`].join("\n");

interface Edit {
  readonly file: Name;
  readonly line: string;
}

/** `y a+47`: a file and the line it gets. */
export function readEdit(answer: string): Edit | undefined {
  const [, file, line] = /^([xyz]) (a[-+*][1-9]\d?)$/.exec(answer.trim()) ?? [];
  return file === undefined ? undefined : { file: file as Name, line: line! };
}

let shared: PythonEvaluator | undefined;

/** Runs the hidden tests on the edited repository, in a box: a function for each file and one that calls them. What is expected stays outside. */
async function passes(task: RepositoryTask, edit: Edit, signal: AbortSignal): Promise<boolean> {
  shared ??= pythonEvaluator({ limits: { testMs: 1_000, memoryMb: 256 } });
  const lineOf = (name: Name) => (name === edit.file ? edit.line : task.files[name].line);
  const functions = names.map((name) => `def ${name}(a):\n return ${lineOf(name)}`);
  const code = [...functions, "def main(a):\n return z(y(x(a)))"].join("\n");
  const calls = task.inputs.map((input) => `main(${input})`);
  const result = await shared.evaluate(code, `[${calls.join(", ")}]`, signal);
  return result.kind === "value" && JSON.stringify(result.value) === JSON.stringify(task.expected);
}

const fixOf = ({ files }: RepositoryTask, file: Name) => `${file} ${lineFor(files[file].words)}`;

/** What a teacher who knows the bug says: what to do, what was wrong with the last try, what is where. */
export function hintFor(kind: HintKind, task: RepositoryTask, lastTry = ""): string {
  switch (kind) {
    case "plan":
      return `redo ${task.bug}`;
    case "feedback": {
      const file = readEdit(lastTry)?.file;
      if (file === task.bug) return `${file} but not so`;
      return `not ${file ?? names.find((name) => name !== task.bug)!}`;
    }
    case "environment":
      return `${task.bug} is to ${task.files[task.bug].words}`;
    default:
      return kind satisfies never;
  }
}

export function repositoryHints(kinds: readonly HintKind[]): HintGenerator<RepositoryTask> {
  const tries = ({ attempts }: FailedTask<RepositoryTask>) =>
    attempts.map(({ messages }) => messages.findLast(({ role }) => role === "assistant")?.content ?? "");
  return scriptedHints<RepositoryTask>(
    {
      plan: ({ task }) => hintFor("plan", task.data),
      feedback: (failed) => {
        const { data } = failed.task;
        const said = tries(failed);
        // of several attempts, one at the right file tells most
        return hintFor("feedback", data, said.find((text) => readEdit(text)?.file === data.bug) ?? said[0]);
      },
      environment: ({ task }) => hintFor("environment", task.data),
    },
    { kinds },
  );
}

export interface WorldOptions {
  /** Repositories in which nothing tells where the bug is, for showing how hints are followed. */
  readonly isStrange?: boolean;
  readonly seed?: number;
}

export function smallRepositories({ isStrange = false, seed = 0 }: WorldOptions = {}): Env<RepositoryTask, undefined> {
  return defineEnv<RepositoryTask, undefined>({
    name: "small-repositories",
    description: "Find the wrong line of a repository of three files, and replace it",
    tasks: generated((rng) => drawTask(rng, isStrange), {
      name: `small-repositories${isStrange ? "-strange" : ""}`,
      seed,
      key: ({ files, bug }) => `${files[bug].words} ${files[bug].line}`,
    }),
    start: ({ task }) => ({ state: undefined, say: promptOf(task) }),
    score: async ({ task, answer, signal }) => {
      const edit = readEdit(answer);
      // in strange ones no edit of one line makes the tests pass
      return edit !== undefined && !isStrange && (await passes(task, edit, signal)) ? 1 : 0;
    },
    expert: ({ task }) => task.shown ?? fixOf(task, task.bug),
    limits: { turns: 1, turnTokens: 10, tokens: 140, envMs: 120_000 },
  }) as Env<RepositoryTask, undefined>;
}

/** A task as a demonstration of following a hint; without one, any file and any line are said. */
export function following(task: RepositoryTask, hint: string | undefined, rng: Rng): RepositoryTask {
  if (hint === undefined) return { ...task, shown: `${pick(rng, names)} ${lineFor(drawWords(rng))}` };
  const [, excluded] = /^not (\w)$/.exec(hint) ?? [];
  const others = names.filter((name) => name !== excluded);
  return excluded === undefined ? task : { ...task, shown: fixOf(task, pick(rng, others)) };
}
