import { defineEnv, type Env, type FinishedEpisode, generated, type Rng, type Score } from "ludus";
import { sweRl } from "ludus/reward";
import { drawTask, functionOf, isRight, type ProgramTask, programOf, runProgram, sloppy } from "../programs.ts";

/** A program with one line that is wrong. */
export interface BugTask extends ProgramTask {
  /** As it is, line by line. */
  readonly wrong: readonly string[];
  readonly line: number;
}

interface BugState {
  isRight: boolean;
}

const path = "f.py";

function drawBug(rng: Rng): BugTask {
  for (;;) {
    const task = drawTask(rng, [2, 3]);
    const lines = task.steps.map(({ line }) => line);
    const line = rng.integer(lines.length);
    const other = drawTask(rng, [1]).steps[0]!.line;
    // the line is found by its text, and what was wrong with it can be seen
    if (!lines.includes(other) && new Set(lines).size === lines.length) {
      return { ...task, line, wrong: lines.with(line, other) };
    }
  }
}

/** Each line behind the words for what it should do. */
export function commented({ wrong, steps }: BugTask): string {
  return wrong.map((line, i) => `${steps[i]!.words}: ${line}`).join("\n");
}

/** `2>a=a+3`: the number of a line, and what to put there. Undefined where it is none, or changes nothing. */
function readEdit({ wrong }: Pick<BugTask, "wrong">, answer: string): { at: number; replace: string } | undefined {
  const [, number, replace] = /^(\d)>([^>\n]+)$/.exec(answer) ?? [];
  const at = Number(number) - 1;
  if (replace === undefined || wrong[at] === undefined || wrong[at] === replace) return undefined;
  return { at, replace };
}

export function applyEdit(task: Pick<BugTask, "wrong">, answer: string): string[] | undefined {
  const edit = readEdit(task, answer);
  return edit === undefined ? undefined : task.wrong.with(edit.at, edit.replace);
}

/** What was said in few words, in SWE-RL's form: the published scorer reads that. What is no edit stays as it is, which is no such form. */
export function inTags(task: Pick<BugTask, "wrong">, answer: string): string {
  const edit = readEdit(task, answer);
  if (edit === undefined) return answer;
  const block = [
    "```python",
    `### ${path}`,
    "<<<<<<< SEARCH",
    ` ${task.wrong[edit.at]}`,
    "=======",
    ` ${edit.replace}`,
    ">>>>>>> REPLACE",
    "```",
  ];
  return `<think>\nfix\n</think>\n<solution>\n${block.join("\n")}\n</solution>`;
}

/** −1 for a broken format, else how near the patch is to the one that was made (arXiv 2502.18449). */
export const similarity = sweRl<BugTask, BugState>(
  (task) => ({
    files: { [path]: `${functionOf(task.wrong.join("\n"))}\n` },
    goldFiles: { [path]: `${functionOf(programOf(task))}\n` },
  }),
  { text: ({ task, answer }) => inTags(task, answer) },
);

export type BugReward = (episode: FinishedEpisode<BugTask, BugState>, isFixed: boolean) => number | Promise<number>;

/** −1 for a broken format as well, 1 where the mended program gives what it should, else 0. */
export const tests: BugReward = ({ task, answer }, isFixed) =>
  applyEdit(task, answer) === undefined ? -1 : isFixed ? 1 : 0;
export const near: BugReward = async (episode) => (await similarity(episode)).total;

/** Instructions in words and a program with one wrong line, to be mended. Success is a program that gives what it should, whatever the reward. */
export function bugs(reward: BugReward): Env<BugTask, BugState> {
  return defineEnv<BugTask, BugState>({
    name: "bugs",
    description: "Mend the line of a program that does not do what its instruction says",
    tasks: generated(drawBug, { name: "bugs", key: (task) => `${programOf(task)} ${task.wrong}` }),
    start: ({ task }) => ({ state: { isRight: false }, say: commented(task) }),
    async act({ task, state, answer, signal }) {
      const edited = applyEdit(task, answer);
      if (edited === undefined) return { done: true };
      state.isRight = isRight(await runProgram(edited.join("\n"), task, signal), task);
      return { done: true };
    },
    async score(episode): Promise<Score> {
      const outcome = await reward(episode, episode.state.isRight);
      return { total: outcome, parts: { outcome }, success: episode.state.isRight };
    },
    expert: ({ task }) => `${task.line + 1}>${task.steps[task.line]!.line}`,
    actions: ({ task, rng }) => {
      const line = rng.integer(task.wrong.length);
      const right = task.steps[line]!.line;
      return [
        `${line + 1}>${right === task.wrong[line] ? sloppy(right, rng) : right}`,
        `${task.line + 1}>${sloppy(task.steps[task.line]!.line, rng)}`,
      ];
    },
    limits: { turns: 1, turnTokens: 20, tokens: 192, envMs: 120_000 },
  });
}
