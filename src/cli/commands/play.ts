import { defined } from "../../defined.ts";
import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import type { Command } from "../command.ts";
import { type OptionTable, parseOptions } from "../parse-options.ts";

const options = {
  split: { type: "string", value: "name", summary: "Split of the task; train by default" },
  task: { type: "number", summary: "Index of the task in its split; 0 by default" },
  seed: { type: "number", summary: "Seed of the episode; the task's own by default" },
  style: { type: "string", choices: ["tags", "compact"], summary: "Format of a shipped environment's messages" },
  expert: { type: "boolean", summary: "Let the environment's expert play" },
  watch: {
    type: "boolean",
    summary: "Play in Chromium, and stream pictures of the page to an address on this machine",
  },
  tokens: { type: "string", choices: ["compact", "chat"], summary: "Also show the tokens of the policy's prompt" },
  json: { type: "boolean", summary: "Print the finished episode as one JSON value; everything else goes to stderr" },
} as const satisfies OptionTable;

export const play: Command = {
  name: "play",
  summary: "Play an environment yourself, with the prompts that a model gets",
  usage: "<name|file.ts>",
  options,
  details: `What you type is sent verbatim; a line that ends in \\ continues on the next.
  ?       lists the possible actions
  !       shows the expert's action; !! sends it
  =text   sends the text as an answer, in the environment's format
Ctrl-C or Ctrl-D quits.`,
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
