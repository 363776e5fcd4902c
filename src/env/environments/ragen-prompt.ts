/** RAGEN's prompts: everything in user messages, turns numbered, the budget and the format in each. */
export const ragenSystem = "You're a helpful assistant.";

export interface GameText {
  /** What the game is and how an answer looks. */
  readonly instruction: string;
  readonly symbols: Readonly<Record<string, string>>;
  readonly actions: readonly string[];
  readonly actionsPerTurn: number;
}

/** Before the first turn. */
export function describeGame({ instruction, symbols, actions, actionsPerTurn }: GameText): string {
  const legend = Object.entries(symbols).map(([symbol, meaning]) => `${symbol}: ${meaning}`);
  return [
    instruction,
    `The meaning of each symbol in the state is:\n${legend.join(", ")}`,
    `Your available actions are:\n${actions.join(", ")}`,
    actionsPerTurn === 1
      ? "You can make one action in a turn"
      : `You can make up to ${actionsPerTurn} actions in a turn, separated by the action separator " || "`,
  ].join("\n");
}

export interface TurnText {
  /** 1 for the first. */
  readonly turn: number;
  readonly state: string;
  readonly actionsLeft: number;
}

export function describeTurn({ turn, state, actionsLeft }: TurnText): string {
  return `Turn ${turn}:\nState:\n${state}\nYou have ${actionsLeft} actions left. ${formatRule}`;
}

export function describeReward(reward: number): string {
  return `Reward:\n${Number(reward.toFixed(4))}`;
}

export const formatRule =
  "Always output: <think> [Your thoughts] </think> <answer> [your answer] </answer> with no extra text. " +
  "Strictly follow this format.";
