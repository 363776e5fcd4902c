import { type Env, listed, type Rng } from "ludus";
import type { BrowserEnvState, BrowserEnvTask } from "ludus/environments";
import { goods, kindOf, order, stockOf, wantedIn } from "../stall.ts";

export type WebEnv = Env<BrowserEnvTask, BrowserEnvState>;

/** The same environment with these tasks, as its split `train`. */
export function withTasks(env: WebEnv, tasks: readonly BrowserEnvTask[]): WebEnv {
  return { ...env, tasks: listed({ train: tasks, test: tasks }, { name: "stall" }) };
}

/** A task like one that failed, as difficult as that: on the same site, with another thing in place of one. */
export function alike(task: BrowserEnvTask, rng: Rng): BrowserEnvTask {
  const wanted = wantedIn(task.instruction);
  const changed = wanted.with(rng.integer(wanted.length), goods[rng.integer(goods.length)]!);
  return { ...task, kind: kindOf(changed.length), ...order(changed) };
}

/** Whether it can be done: the shop has what is asked for, and nothing is asked for twice. */
export function isFeasible({ world, instruction }: BrowserEnvTask): boolean {
  const [stock, wanted] = [stockOf(world), wantedIn(instruction)];
  return new Set(wanted).size === wanted.length && wanted.every((good) => stock.includes(good));
}
