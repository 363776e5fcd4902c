import { defineEnv, type Env, type FinishedEpisode, generated, type Rng, type Score } from "ludus";
import { sweRl } from "ludus/reward";
import {
  drawTask,
  functionOf,
  isRight,
  type ProgramTask,
  programOf,
  questionOf,
  runProgram,
  sloppy,
} from "../programs.ts";

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

/** `search>replace`: one line of the program, and what to put there. Undefined where it is none, or changes nothing. */
export function applyEdit({ wrong }: Pick<BugTask, "wrong">, answer: string): string[] | undefined {
  const [search, replace, ...more] = answer.split(">");
  const at = wrong.indexOf(search ?? "");
  if (at < 0 || replace === undefined || more.length > 0 || search === replace) return undefined;
  return wrong.with(at, replace);
}

/** What was said in few words, in SWE-RL's form: the published scorer reads that. */
export function inTags(answer: string): string {
  const [search = "", replace = ""] = answer.split(">");
  const block = [
    "```python",
    `### ${path}`,
    "<<<<<<< SEARCH",
    ` ${search}`,
    "=======",
    ` ${replace}`,
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
  { text: ({ answer }) => inTags(answer) },
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
    start: ({ task }) => ({ state: { isRight: false }, say: `${questionOf(task)}\n${task.wrong.join("\n")}` }),
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
    expert: ({ task }) => `${task.wrong[task.line]}>${task.steps[task.line]!.line}`,
    actions: ({ task, rng }) => {
      const line = rng.integer(task.wrong.length);
      const right = task.steps[line]!.line;
      return [
        `${task.wrong[line]}>${right === task.wrong[line] ? sloppy(right, rng) : right}`,
        `${task.wrong[task.line]}>${sloppy(task.steps[task.line]!.line, rng)}`,
      ];
    },
    limits: { turns: 1, turnTokens: 32, tokens: 192, envMs: 120_000 },
  });
}
