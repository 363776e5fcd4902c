import { defineEnv, type Env, listed } from "ludus";
import { Episode } from "ludus/env";
import type { CraftGridState, CraftGridTask } from "ludus/environments";
import { formats } from "ludus/policy";

type Crafting = Env<CraftGridTask, CraftGridState>;

/** An episode as it was seen, and what was done between its frames: whoever has only the video is not told. */
export interface Video {
  readonly frames: readonly string[];
  readonly actions: readonly string[];
}

export interface Transition {
  readonly before: string;
  readonly after: string;
  readonly action: string;
}

/** Episodes of a good player, the environment's expert. */
export async function record(env: Crafting, count: number, first: number): Promise<Video[]> {
  const { signal } = new AbortController();
  const videos: Video[] = [];
  for (let index = first; index < first + count; index++) {
    const episode = new Episode(env, await env.tasks.at("train", index), { signal });
    const [frames, actions]: [string[], string[]] = [[], []];
    let move = await episode.start();
    while ("role" in move) {
      frames.push(move.messages.at(-1)!.content);
      actions.push(episode.expertSays()!);
      move = await episode.step(actions.at(-1)!);
    }
    const { turns } = await episode.finish(move);
    videos.push({ frames: [...frames, turns.at(-1)!.observation], actions });
  }
  return videos;
}

export function transitionsOf({ frames, actions }: Video): Transition[] {
  return actions.map((action, index) => ({ before: frames[index]!, after: frames[index + 1]!, action }));
}

/** Two frames in a row: what was done between them? It may look at what came after, which a player cannot. */
export function inverseDynamics(
  known: readonly Transition[],
  asked: readonly Transition[],
): Env<Transition, undefined> {
  return defineEnv<Transition, undefined>({
    name: "inverse-dynamics",
    description: "What was done between two frames",
    tasks: listed({ train: known, test: asked }, { name: "inverse-dynamics" }),
    start: ({ task: { before, after } }) => ({ state: undefined, say: difference(before, after) }),
    score: ({ task, answer }) => (answer.trim() === task.action ? 1 : 0),
    expert: ({ task }) => task.action,
    actions: () => ["L", "D", "R", "U", "A"],
    limits: { turns: 1, turnTokens: 3 },
    format: formats.plain(),
  });
}

/** The difference of two frames: `-` where the player was, `+` where it is now, `*` for what changed besides. */
function difference(before: string, after: string): string {
  const isPlayer = (cell: string) => /[Ptwd]/.test(cell);
  const cells = Array.from(before, (was, index) => {
    const is = after[index]!;
    if (was === is) return was === "\n" ? was : ".";
    if (isPlayer(was) === isPlayer(is)) return "*";
    return isPlayer(was) ? "-" : "+";
  });
  return cells.join("");
}

/**
 * Videos with labels, as an environment that shows the next frame whatever is said: its expert says the labels, so its demonstrations are the
 * episodes of a player who did what the labels say. What a policy says in it is compared with them.
 */
export function shown(videos: readonly Video[], limits: Crafting["limits"]): Env<Video, { at: number; right: number }> {
  return defineEnv<Video, { at: number; right: number }>({
    name: "videos",
    description: "Frames of an episode, one after the other",
    tasks: listed({ train: videos, test: videos }, { name: "videos" }),
    start: ({ task }) => ({ state: { at: 0, right: 0 }, say: task.frames[0]! }),
    act({ task, state, answer }) {
      const isRight = answer.trim() === task.actions[state.at];
      state.at++;
      return { say: task.frames[state.at]!, done: state.at === task.actions.length, info: { isRight } };
    },
    score: () => ({ outcome: 0 }),
    expert: ({ task, state }) => task.actions[state.at]!,
    actions: () => ["L", "D", "R", "U", "A"],
    limits,
    format: formats.plain(),
  });
}
