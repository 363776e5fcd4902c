import { type Env, type ExpertContext, formats } from "ludus";
import type { FrozenLakeState, FrozenLakeTask, SokobanState, SokobanTask } from "ludus/environments";
import type { WantToSay } from "ludus/policy";

/** Tokens of a thought and of the marks around it. */
const thoughtTokens = 16;

/**
 * RAGEN's `<think>…</think><answer>…</answer>` in few tokens: a line `#` of thought and a line `=` of moves. Whoever demonstrates
 * thinks the same before good and before random moves, so that a thought alone does not tell them apart.
 */
function withThoughts<Data, State>(
  env: Env<Data, State>,
  think: (context: ExpertContext<Data, State>) => string,
): Env<Data, State> {
  const thinking = (context: ExpertContext<Data, State>, said: string | WantToSay): WantToSay => ({
    thought: think(context),
    answer: typeof said === "string" ? said : (said.answer ?? ""),
  });
  const turnTokens = env.limits.turnTokens + thoughtTokens;
  return {
    ...env,
    format: formats.compact(),
    limits: { ...env.limits, turnTokens, tokens: env.limits.turns * turnTokens },
    expert(context) {
      const said = env.expert!(context);
      return said === undefined ? undefined : thinking(context, said);
    },
    actions: (context) => env.actions!(context).map((said) => thinking(context, said)),
  };
}

/** Where the goal is, seen from the player. */
export function thinkingOnIce(env: Env<FrozenLakeTask, FrozenLakeState>): Env<FrozenLakeTask, FrozenLakeState> {
  return withThoughts(env, ({ state: { cells, size, position } }) => `G${wayTo(position, cells.indexOf("G"), size)}`);
}

/** Where the box is, seen from the player, and where the target is, seen from the box. */
export function thinkingInRooms(env: Env<SokobanTask, SokobanState>): Env<SokobanTask, SokobanState> {
  return withThoughts(env, ({ state: { room } }) => {
    const { player, width } = room;
    const [box, target] = [room.boxes[0]!, room.targets[0]!];
    return `B${wayTo(player, box, width)}T${wayTo(box, target, width)}`;
  });
}

/** Rows and columns from one cell to another: `2d1r`. */
function wayTo(from: number, to: number, width: number): string {
  const down = Math.floor(to / width) - Math.floor(from / width);
  const right = (to % width) - (from % width);
  const steps = (count: number, forth: string, back: string) =>
    count === 0 ? "" : `${Math.abs(count)}${count > 0 ? forth : back}`;
  return steps(down, "d", "u") + steps(right, "r", "l");
}
