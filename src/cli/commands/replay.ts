import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  step: { type: "number", summary: "Step to list or to choose best, worst and last from; the last step by default" },
  split: {
    type: "string",
    value: "train|held-out",
    choices: ["train", "held-out"],
    summary: "Episodes of training, or of evaluations, failed ones first; train by default",
  },
  tokens: {
    type: "boolean",
    summary: "Also show every token: id, whether it was sampled, log-probability, advantage, text",
  },
  speed: { type: "real", value: "turns", summary: "Turns per second; all at once by default" },
  json: { type: "boolean", summary: "Print one JSON value" },
} as const satisfies OptionTable;

export const replay: Command = {
  name: "replay",
  summary: "Show an episode of a run turn by turn, or list episodes",
  usage: "<run folder> [key | best | worst | last]",
  options,
  details: `best and worst are by reward. Without a key, lists the episodes of a step with their keys.
The first prompt and the text of tokens need a checkpoint, which has the tokenizer.`,
  example: "ludus replay runs/key-hunt-1 worst --split held-out --tokens",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const expected = "a run folder, and which episode";
    const [run = "", which] = onlyArguments(positionals, { least: 1, most: 2 }, expected, "replay");
    const { replayRun } = await import("../replay-run.ts");
    const { addressedRuns } = await import("../../store/index.ts");
    return stoppable(terminal, (signal) => replayRun(addressedRuns(), run, which, values, terminal, signal));
  },
};
