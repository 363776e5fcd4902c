import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";

const options = {
  metric: { type: "string", value: "name", isMany: true, summary: "Show only these metrics; the main ones by default" },
  json: { type: "boolean", summary: "Print one JSON value" },
} as const satisfies OptionTable;

export const compare: Command = {
  name: "compare",
  summary: "Compare two runs: success, metrics, curves, configuration",
  usage: "<run folder> <run folder>",
  options,
  details: `The difference in held-out success has a 95 % interval, computed as if the runs were evaluated on different tasks.
Each curve has its own scale.`,
  example: "ludus compare runs/key-hunt-1 runs/key-hunt-2 --metric rollout/reward",
  async run(args, { stdout }) {
    const { values, positionals } = parseOptions(args, options);
    const counts = { least: 2, most: 2 };
    const [first = "", second = ""] = onlyArguments(positionals, counts, "the folders of two runs", "compare");
    const { compareRuns } = await import("../compare-runs.ts");
    const { compareText } = await import("../compare-text.ts");
    const { addressedRuns } = await import("../../store/index.ts");
    const comparison = await compareRuns(addressedRuns(), [first, second], values.metric);
    stdout.write(values.json ? `${JSON.stringify(comparison)}\n` : compareText(comparison, stdout));
    return 0;
  },
};
