import { defined } from "../../defined.ts";
import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import type { Command } from "../command.ts";
import { type OptionTable, parseOptions } from "../parse-options.ts";

const options = {
  split: { type: "string", value: "name", summary: "Where the task comes from; train by default" },
  task: { type: "number", summary: "Which task of the split; 0 by default" },
  seed: { type: "number", summary: "The episode's chance; the task's own by default" },
  style: { type: "string", choices: ["tags", "compact"], summary: "How a shipped environment speaks" },
  expert: { type: "boolean", summary: "The environment's expert plays" },
  tokens: { type: "string", choices: ["compact", "chat"], summary: "Show also the tokens that a policy is given" },
  json: { type: "boolean", summary: "Print the finished episode as one JSON value; all else goes to stderr" },
} as const satisfies OptionTable;

export const play: Command = {
  name: "play",
  summary: "Play an environment yourself, reading what a model would read",
  usage: "<name|file.ts>",
  options,
  details: `What you type is said word for word; a line that ends in \\ goes on in the next.
  ?       lists what may be said now
  !       asks the expert; !! lets it speak for you
  =words  says them as an answer, in the environment's format
Ctrl-C or Ctrl-D ends.`,
  example: "ludus play sokoban --style compact --task 3",
  async run(args, { stdin, stdout, stderr }) {
    const { values, positionals } = parseOptions(args, options);
    const shown = values.json ? stderr : stdout;
    // loaded when needed: all environments come with it
    const { playAtTerminal } = await import("../play-table.ts");
    const played = await playAtTerminal(positionals[0], values, { stdout: shown, stderr, ...defined({ stdin }) });
    if (values.json) stdout.write(`${JSON.stringify(played)}\n`);
    return isInfrastructureStop(played.stop) && played.stop !== "cancelled" ? 1 : 0;
  },
};
