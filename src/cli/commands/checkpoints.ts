import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";

const options = { json: { type: "boolean", summary: "Print one JSON value" } } as const satisfies OptionTable;

export const checkpoints: Command = {
  name: "checkpoints",
  summary: "List the checkpoints of a run, with held-out success and size",
  usage: "<run>",
  options,
  details: `eval is the success on held-out tasks that was measured at that step. The newest checkpoints are retained (save.retain, 2 by
default), every save.retainEvery steps, and the best. ludus train --from <run>@<step> starts a new run from one of them.`,
  example: "ludus checkpoints runs/first",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const [run = ""] = onlyArguments(positionals, { least: 1, most: 1 }, "the folder of a run", "checkpoints");
    const { checkpointsText, listCheckpoints } = await import("../list-checkpoints.ts");
    const { addressedRuns } = await import("../../store/index.ts");
    const list = await listCheckpoints(addressedRuns(), run);
    terminal.stdout.write(values.json ? `${JSON.stringify(list)}\n` : checkpointsText(run, list, terminal.stdout));
    return 0;
  },
};
