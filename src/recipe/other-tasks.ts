import type { Env } from "../env/env.ts";
import { LudusError } from "../errors.ts";
import type { Task } from "../schema/task.ts";
import type { TaskSource } from "../task/task-source.ts";

/** Where an evaluation takes its tasks from. */
export interface EvaluatedTasks<Data, State> {
  readonly env: Env<Data, State>;
  readonly split: string;
}

const farBehind = 1_000_000;
// of a task whose content is reported too, before it is taken after all
const tries = 20;

/**
 * Other held-out tasks than the first `reported` ones of a split, which are those that are reported: settings are chosen on these. They are
 * those of a split "validation" where there is one; what follows the reported ones where the split has an end; and else ones from far behind
 * with another content. Where a world has no other content, such as a bandit with two names, they differ in their seeds. A list of training tasks
 * is not held out and stays as it is.
 */
export function withOtherTasks<Data, State>(
  env: Env<Data, State>,
  split: string,
  reported: number,
): EvaluatedTasks<Data, State> {
  const { tasks } = env;
  const isList = Number.isFinite(tasks.size(split));
  if (split === "train" && isList) return { env, split };
  if (split !== "train" && tasks.splits.includes("validation")) return { env, split: "validation" };
  const others = isList ? following(tasks, split, reported) : unlike(tasks, split, reported);
  return { env: { ...env, tasks: { ...tasks, ...others } }, split };
}

type Others<Data> = Pick<TaskSource<Data>, "size" | "at">;

function following<Data>(tasks: TaskSource<Data>, split: string, reported: number): Others<Data> {
  const others = tasks.size(split) - reported;
  if (others < 1) {
    throw new LudusError("no-other-tasks", {
      got: `${tasks.size(split)} tasks in "${split}" of ${tasks.name}, where ${reported} are reported`,
      expected: "further ones, on which settings can be chosen",
      hint: 'Give the source more tasks, or a split "validation" with tasks of its own.',
    });
  }
  return {
    size: (asked) => (asked === split ? others : tasks.size(asked)),
    at: (asked, index) => tasks.at(asked, asked === split ? reported + (index % others) : index),
  };
}

function unlike<Data>(tasks: TaskSource<Data>, split: string, reported: number): Others<Data> {
  let contents: Promise<ReadonlySet<string>> | undefined;
  async function reportedContents(): Promise<ReadonlySet<string>> {
    const all = await Promise.all(Array.from({ length: reported }, (_, index) => tasks.at(split, index)));
    return new Set(all.map(contentOf));
  }
  return {
    size: (asked) => tasks.size(asked),
    async at(asked, index) {
      if (asked !== split) return tasks.at(asked, index);
      contents ??= reportedContents();
      const known = await contents;
      const first = await tasks.at(split, farBehind + index);
      let task = first;
      for (let i = 2; known.has(contentOf(task)); i++) {
        if (i > tries) return first;
        task = await tasks.at(split, farBehind * i + index);
      }
      return task;
    },
  };
}

const contentOf = ({ data }: Task<unknown>) => JSON.stringify(data) ?? "";
