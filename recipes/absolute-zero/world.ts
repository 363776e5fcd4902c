import { defineEnv, type Env, generated, makeScore, type Rng, type Score, type TaskSource } from "ludus";
import { absoluteZeroProposer } from "ludus/reward";
import { alreadyKnown, execute, isProgram } from "./executor.ts";

export const kinds = ["deduction", "abduction", "induction"] as const;
export type Kind = (typeof kinds)[number];

/** A program with inputs and what it gives for them. One input, but for induction, where half of them are shown. */
export interface Triple {
  readonly program: string;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

export interface AbsoluteZeroTask extends Triple {
  readonly role: "propose" | "solve";
  readonly kind: Kind;
  /** What a proposer is shown: earlier programs, each with an input. */
  readonly references: readonly string[];
}

const [shown, fewest, most] = [3, 4, 6];
const pick = <Item>(rng: Rng, items: readonly Item[]): Item => items[rng.integer(items.length)]!;

const operations: readonly ((rng: Rng) => readonly [string, (a: number) => number])[] = [
  (rng) => withNumber(1 + rng.integer(9), (n) => [`a=a+${n}`, (a) => a + n]),
  (rng) => withNumber(1 + rng.integer(9), (n) => [`a=a-${n}`, (a) => a - n]),
  (rng) => withNumber(2 + rng.integer(3), (n) => [`a=a*${n}`, (a) => a * n]),
  (rng) => withNumber(2 + rng.integer(7), (n) => [`a=max(a,${n})`, (a) => Math.max(a, n)]),
  (rng) => withNumber(2 + rng.integer(7), (n) => [`a=min(a,${n})`, (a) => Math.min(a, n)]),
];
const withNumber = <Made>(n: number, make: (n: number) => Made): Made => make(n);

/** A program of so many operations, its inputs, and what it gives for them. */
function drawTriple(rng: Rng, operationCount: number, inputCount: number): Triple {
  const steps = Array.from({ length: operationCount }, () => pick(rng, operations)(rng));
  const program = steps.map(([text]) => text).join(";");
  const inputs = new Set<number>();
  while (inputs.size < inputCount) inputs.add(rng.integer(10));
  const outputs = [...inputs].map((input) => steps.reduce((a, [, run]) => run(a), input));
  alreadyKnown(program, [...inputs], outputs);
  return { program, inputs: [...inputs], outputs };
}

export const inputsOf = (kind: Kind) => (kind === "induction" ? most : 1);
const drawRole = (rng: Rng, kind: Kind, operationCount: number, role: AbsoluteZeroTask["role"]): AbsoluteZeroTask => ({
  role,
  kind,
  ...drawTriple(rng, operationCount, inputsOf(kind)),
  references: Array.from({ length: 2 }, () => referenceOf(drawTriple(rng, 1, 1))),
});

export const referenceOf = ({ program, inputs }: Triple) => `${program} ${inputs[0]}`;

/** Tasks of people: programs of one or two operations to be solved, all three kinds. In training, what a pretrained model has read. */
export function tasksOfPeople(isTest: boolean): TaskSource<AbsoluteZeroTask> {
  const draw = (rng: Rng) => {
    const kind = pick(rng, kinds);
    if (isTest) return drawRole(rng, kind, 2, "solve");
    return rng.integer(3) === 0
      ? drawRole(rng, kind, rng.integer(4) === 0 ? 2 : 1, "propose")
      : drawRole(rng, kind, 1 + rng.integer(2), "solve");
  };
  return generated(draw, { name: `absolute-zero-${isTest ? "test" : "read"}`, key: ({ program }) => program });
}

function promptOf({ role, kind, program, inputs, outputs, references }: AbsoluteZeroTask): string {
  const letter = { deduction: "d", abduction: "b", induction: "i" }[kind];
  if (role === "propose") return `p${letter} ${kind === "induction" ? program : references.join("|")}`;
  switch (kind) {
    case "deduction":
      return `d ${program} ${inputs[0]}`;
    case "abduction":
      return `b ${program} ${outputs[0]}`;
    case "induction":
      return `i ${inputs
        .slice(0, shown)
        .map((input, i) => `${input}:${outputs[i]}`)
        .join(" ")}`;
    default:
      return kind satisfies never;
  }
}

/** What a proposal asks for, with what its program gives; undefined where the words have no meaning, null where the program cannot be used. */
export async function readProposal(task: AbsoluteZeroTask, answer: string): Promise<Triple | undefined | null> {
  const words = answer.trim().split(" ");
  const [program, texts] = task.kind === "induction" ? [task.program, words] : [words[0]!, words.slice(1)];
  const inputs = texts.map(Number);
  const isCount =
    task.kind === "induction" ? new Set(inputs).size >= fewest && inputs.length <= most : inputs.length === 1;
  if (!isProgram(program) || !isCount || !texts.every((text) => /^\d$/.test(text))) return undefined;
  const outputs = await execute(program, inputs);
  return outputs === undefined ? null : { program, inputs, outputs };
}

const wrong = { unreadable: -1, failed: -0.5 };

async function isSolved({ kind, program, inputs, outputs }: AbsoluteZeroTask, answer: string): Promise<number> {
  const isNumber = /^-?\d{1,3}$/.test(answer);
  const paid = (isRight: boolean) => (isRight ? 1 : wrong.failed);
  switch (kind) {
    case "deduction":
      return isNumber ? paid(Number(answer) === outputs[0]) : wrong.unreadable;
    case "abduction":
      // any input that gives the output
      return isNumber ? paid((await execute(program, [Number(answer)]))?.[0] === outputs[0]) : wrong.unreadable;
    case "induction":
      // what was shown and what was not
      return isProgram(answer)
        ? paid(JSON.stringify(await execute(answer, inputs)) === JSON.stringify(outputs))
        : wrong.unreadable;
    default:
      return kind satisfies never;
  }
}

export interface WorldOptions {
  readonly tasks: TaskSource<AbsoluteZeroTask>;
  /** The share of a solver's attempts that succeed at a proposal, once it could be run; a proposal is good to nobody without it. */
  readonly solve?: (task: AbsoluteZeroTask, signal: AbortSignal) => Promise<number>;
}

/** Both roles of one policy: it proposes programs and inputs, and solves such tasks. Scores are those of the paper. */
export function absoluteZeroWorld({ tasks, solve = async () => 0 }: WorldOptions): Env<AbsoluteZeroTask, undefined> {
  return defineEnv<AbsoluteZeroTask, undefined>({
    name: "absolute-zero",
    description: "Propose programs with inputs, and tell outputs, inputs or programs",
    tasks,
    start: ({ task }) => ({ state: undefined, say: promptOf(task) }),
    async score({ task, answer, signal }): Promise<Score> {
      if (task.role === "solve") return makeScore({ outcome: await isSolved(task, answer.trim()) });
      const proposal = await readProposal(task, answer);
      if (!proposal) return makeScore({ outcome: proposal === null ? wrong.failed : wrong.unreadable }, false);
      const share = await solve({ ...task, ...proposal, role: "solve" }, signal);
      return makeScore({ outcome: absoluteZeroProposer(share) }, share > 0 && share < 1);
    },
    expert: ({ task }) => expertOf(task),
    actions: ({ task, rng }) => [expertOf(drawRole(rng, task.kind, 1 + rng.integer(2), task.role))],
    limits: { turns: 1, turnTokens: 30, tokens: 140, envMs: 120_000 },
  }) as Env<AbsoluteZeroTask, undefined>;
}

function expertOf({ role, kind, program, inputs, outputs }: AbsoluteZeroTask): string {
  if (role === "propose") return kind === "induction" ? inputs.join(" ") : `${program} ${inputs[0]}`;
  return { deduction: `${outputs[0]}`, abduction: `${inputs[0]}`, induction: program }[kind];
}
