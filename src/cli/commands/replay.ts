import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  step: { type: "number", summary: "Which step best, worst, last and the list are of; the last by default" },
  tokens: {
    type: "boolean",
    summary: "Show also every token: id, whether it was sampled, log-probability, advantage, text",
  },
  speed: { type: "real", value: "turns", summary: "Turns a second; all at once by default" },
  json: { type: "boolean", summary: "Print one JSON value" },
} as const satisfies OptionTable;

export const replay: Command = {
  name: "replay",
  summary: "Show an episode of a run turn by turn, or list what there is",
  usage: "<run folder> [key | best | worst | last]",
  options,
  details: `best and worst are by reward. Without a choice, the episodes of a step are listed with their keys.
What the policy read first, and the text of tokens, need the tokenizer that a checkpoint of the run has.`,
  example: "ludus replay runs/key-hunt-1 worst --step 40 --tokens",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const expected = "a run folder, and which episode";
    const [run = "", which] = onlyArguments(positionals, { least: 1, most: 2 }, expected, "replay");
    const { replayRun } = await import("../replay-run.ts");
    const { sqliteRuns } = await import("../../store/index.ts");
    return stoppable(terminal, (signal) => replayRun(sqliteRuns(), run, which, values, terminal, signal));
  },
};
