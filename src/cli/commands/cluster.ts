import type { Command } from "../command.ts";
import { type OptionTable, onlyArguments, parseOptions } from "../parse-options.ts";

const options = {
  json: { type: "boolean", summary: "Print one JSON value" },
} as const satisfies OptionTable;

export const cluster: Command = {
  name: "cluster",
  summary: "Show workers, samplers and trainers on a PostgreSQL server, and their rates",
  usage: "<postgres://…>",
  options,
  details: `Members that were not heard of for ten minutes are left out; silent is how long one has not been heard of.
Rates are groups finished in the last ten seconds, a second.`,
  example: "ludus cluster postgres://ludus@db.example/ludus",
  async run(args, { stdout }) {
    const { values, positionals } = parseOptions(args, options);
    const [address = ""] = onlyArguments(positionals, { least: 1, most: 1 }, "the address of a server", "cluster");
    const { postgresQueue } = await import("../../queue/postgres-queue.ts");
    const { clusterText } = await import("../cluster-text.ts");
    const queue = await postgresQueue(address);
    try {
      const status = await queue.status();
      stdout.write(values.json ? `${JSON.stringify(status)}\n` : clusterText(status, stdout));
      return 0;
    } finally {
      await queue.close();
    }
  },
};
