import { defined } from "../../defined.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { plain } from "../../policy/formats/plain.ts";
import { thinkAnswer } from "../../policy/formats/think-answer.ts";
import type { Rng } from "../../random.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { ActContext, Acted, Env } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import type { Style } from "./moves.ts";
import { formatRule } from "./ragen-prompt.ts";

export interface KeyDoorOptions {
  style: Style;
  /** Actions of the shortest solution, exactly, 4 to 64: the horizon of credit assignment. */
  length: number;
  /** How many times `length` an episode may take. */
  slack: number;
  /** How far to each side the corridor is seen. */
  sight: number;
  /**
   * What is paid on the way: nothing; each of key, door and far side once; or every time the agent gets there, a
   * known mistake: the policy learns to walk back and forth.
   */
  subgoals: "none" | "first-visit" | "repeatable";
  subgoalReward: number;
  seed: number;
}

const knownKeyDoorOptions: KnownOptions<KeyDoorOptions> = {
  style: true,
  length: true,
  slack: true,
  sight: true,
  subgoals: true,
  subgoalReward: true,
  seed: true,
};

const defaults: KeyDoorOptions = {
  style: "compact",
  length: 8,
  slack: 2,
  sight: Number.POSITIVE_INFINITY,
  subgoals: "none",
  subgoalReward: 0.2,
  seed: 0,
};

/** A corridor, one character a cell: `k` key, `A` agent, `D` door, `G` goal; `K` is an agent that starts on the key. */
export interface KeyDoorTask {
  readonly corridor: string;
}

type Subgoal = "key" | "door" | "far-side";

export interface KeyDoorState {
  readonly length: number;
  readonly key: number;
  readonly door: number;
  readonly goal: number;
  position: number;
  hasKey: boolean;
  isOpen: boolean;
  readonly reached: Set<Subgoal>;
}

const actions = ["Left", "Right", "Take", "Open"] as const;
type Action = (typeof actions)[number];

/** Take the key, open the door, reach the goal. The score is 1 at the goal, 0 otherwise; subgoals pay their turns. */
export function keyDoor(options: Partial<KeyDoorOptions> = {}): Env<KeyDoorTask, KeyDoorState> {
  refuseUnknownOptions("keyDoor", options, knownKeyDoorOptions);
  const chosen = { ...defaults, ...options };
  const { style, length, slack, sight, seed } = chosen;
  checkWholeOptions("key-door", { length: [length, 4, 64], slack: [slack, 1, 100] });
  const turnTokens = style === "tags" ? 128 : 4;
  const show = (state: KeyDoorState) => draw(state, sight) + (state.hasKey ? "+" : "");
  return defineEnv<KeyDoorTask, KeyDoorState>({
    name: "key-door",
    description: `A corridor with a key, a door and a goal, ${length} actions long`,
    tasks: generated((rng, split) => makeTask(rng, length, split === "mirrored"), {
      name: `key-door-${length}`,
      seed,
      splits: ["train", "test", "mirrored"],
      // there are too few shorter corridors to hold some out
      ...defined({ key: length >= 8 ? ({ corridor }: KeyDoorTask) => corridor : undefined }),
    }),
    start({ task }) {
      const state = open(task);
      return { state, say: style === "tags" ? `${introduction}\nState: ${show(state)}` : show(state) };
    },
    act: (context) => act(context, chosen, show),
    score: ({ state }) => (state.position === state.goal ? 1 : 0),
    expert: ({ state }) => write(nextAction(state), style),
    actions: () => actions.map((action) => write(action, style)),
    stateKey: (state) => `${draw(state, Number.POSITIVE_INFINITY)}${state.hasKey ? "+" : ""}`,
    limits: { turns: slack * length, turnTokens, tokens: slack * length * turnTokens },
    format: style === "tags" ? thinkAnswer() : plain(),
  });
}

/** `back` cells back to the key, take it, all the way to the door, open it, through it to the goal: `length` actions. */
function makeTask(rng: Rng, length: number, isMirrored: boolean): KeyDoorTask {
  // take, open, into the door's cell, and at least one cell beyond
  const spare = length - 4;
  const back = rng.integer(Math.floor(spare / 2) + 1);
  const ahead = rng.integer(spare - 2 * back + 1);
  const beyond = 1 + spare - 2 * back - ahead;
  const start = back === 0 ? "K" : `k${".".repeat(back - 1)}A`;
  const corridor = `${start}${".".repeat(ahead)}D${".".repeat(beyond - 1)}G`;
  return { corridor: isMirrored ? [...corridor].reverse().join("") : corridor };
}

function open({ corridor }: KeyDoorTask): KeyDoorState {
  const find = (pattern: RegExp) => corridor.search(pattern);
  return {
    length: corridor.length,
    key: find(/[kK]/),
    door: find(/D/),
    goal: find(/G/),
    position: find(/[AK]/),
    hasKey: false,
    isOpen: false,
    reached: new Set(),
  };
}

function act(
  { state, answer }: ActContext<KeyDoorTask, KeyDoorState>,
  { style, subgoals, subgoalReward }: KeyDoorOptions,
  show: (state: KeyDoorState) => string,
): Acted {
  const action = read(answer, style);
  const hasChanged = action !== undefined && apply(state, action);
  const subgoal = hasChanged ? subgoalOf(state) : undefined;
  const isPaid = subgoal !== undefined && (subgoals === "repeatable" || !state.reached.has(subgoal));
  if (subgoal !== undefined) state.reached.add(subgoal);
  return {
    say: style === "tags" ? `State: ${show(state)}\n${formatRule}` : show(state),
    reward: isPaid && subgoals !== "none" ? subgoalReward : 0,
    done: state.position === state.goal,
    info: { isValid: action !== undefined },
  };
}

/** Whether anything changed. */
function apply(state: KeyDoorState, action: Action): boolean {
  const { position, key, door, length } = state;
  switch (action) {
    case "Left":
    case "Right": {
      const next = position + (action === "Left" ? -1 : 1);
      if (next < 0 || next >= length || (next === door && !state.isOpen)) return false;
      state.position = next;
      return true;
    }
    case "Take": {
      const canTake = position === key && !state.hasKey;
      state.hasKey ||= canTake;
      return canTake;
    }
    case "Open": {
      const canOpen = state.hasKey && !state.isOpen && Math.abs(position - door) === 1;
      state.isOpen ||= canOpen;
      return canOpen;
    }
    default:
      return action satisfies never;
  }
}

/** The subgoal whose place the agent has just come to, with what it needs there. */
function subgoalOf({ position, key, door, goal, hasKey, isOpen }: KeyDoorState): Subgoal | undefined {
  const towardsGoal = Math.sign(goal - door);
  if (isOpen && position === door + towardsGoal) return "far-side";
  if (isOpen && position === door - towardsGoal) return "door";
  return hasKey && position === key ? "key" : undefined;
}

function nextAction({ position, key, door, goal, hasKey, isOpen }: KeyDoorState): Action {
  const towards = (cell: number) => (cell < position ? "Left" : "Right");
  if (!hasKey) return position === key ? "Take" : towards(key);
  if (!isOpen) return Math.abs(position - door) === 1 ? "Open" : towards(door);
  return towards(goal);
}

function read(answer: string, style: Style): Action | undefined {
  const said = answer.trim().toLowerCase();
  return actions.find((action) => said === write(action, style).toLowerCase());
}

function write(action: Action, style: Style): string {
  return style === "tags" ? action : action[0];
}

/** `..k.A..D..G`; an open door is `d`, an agent on the key `K`. What is out of sight is left out. */
function draw({ length, key, door, goal, position, hasKey, isOpen }: KeyDoorState, sight: number): string {
  const symbolAt = (cell: number) => {
    const isKey = cell === key && !hasKey;
    if (cell === position) return isKey ? "K" : "A";
    if (isKey) return "k";
    if (cell === door) return isOpen ? "d" : "D";
    return cell === goal ? "G" : ".";
  };
  const cells = Array.from({ length }, (_, cell) => (Math.abs(cell - position) <= sight ? symbolAt(cell) : ""));
  return cells.join("");
}

const introduction = [
  "You are in a corridor. Take the key, open the door, and go to the goal.",
  "The meaning of each symbol in the state is:",
  "A: you, k: key, K: you on the key, D: closed door, d: open door, G: goal, .: empty, + at the end: you have the key",
  `Your available actions are:\n${actions.join(", ")}`,
  "Take works on the key's cell, Open next to the door and with the key. One action in a turn.",
  formatRule,
].join("\n");
