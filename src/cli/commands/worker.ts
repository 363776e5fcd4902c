import type { Command } from "../command.ts";
import { type OptionTable, parseOptions, usageError } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  connect: { type: "string", value: "postgres://…", summary: "Server that has the work (required)" },
  parallel: { type: "number", summary: "Groups played at once; 4 by default" },
  lease: {
    type: "number",
    value: "seconds",

    summary: "Seconds after which the work of a lost worker is given to others; 30 by default",
  },
  name: { type: "string", value: "name", summary: "Name in ludus cluster; host and process by default" },
  quiet: { type: "boolean", summary: "Do not print groups" },
} as const satisfies OptionTable;

export const worker: Command = {
  name: "worker",
  summary: "Play episodes for trainers elsewhere, taking work from a PostgreSQL server",
  usage: "<train.ts|environment>…",
  options,
  details: `A trainer whose environment is onWorkers(env, { connect, run }) hands out its groups of attempts; workers on any number of machines
take them, sample from the addresses that come with them, play, score and write the trajectories back. Start workers with the
training file, which has the environment and its settings, or with environments that need none.

A worker that is lost costs time, nothing else: its leases expire and others do the work. Ctrl-C gives the work back at once.
The password: PGPASSWORD.`,
  example: "ludus worker train.ts --connect postgres://ludus@db.example/ludus",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const { connect, parallel = 4, lease = 30, name, quiet } = values;
    if (connect === undefined || positionals.length === 0) {
      const got = connect === undefined ? "no --connect" : "no training file or environment";
      throw usageError("bad-usage", { got, expected: "ludus worker <train.ts|environment> --connect postgres://…" });
    }
    if (parallel < 1 || lease < 1) {
      throw usageError("bad-option", { got: `--parallel ${parallel} --lease ${lease}`, expected: "1 or more of both" });
    }
    const { playedWorld } = await import("../played-world.ts");
    const { postgresQueue } = await import("../../queue/postgres-queue.ts");
    const { runWorker } = await import("../../rollout/remote/worker.ts");
    const worlds = await Promise.all(positionals.map(playedWorld));
    const queue = await postgresQueue(connect);
    const say = (text: string) => void (quiet || terminal.stderr.write(`${text}\n`));
    try {
      return await stoppable(terminal, async (signal) => {
        say(`waiting for work: ${worlds.map(({ world }) => world.name).join(", ")}`);
        const groups = await runWorker(queue, {
          worlds,
          parallel,
          leaseMs: lease * 1000,
          signal,
          onGroup: ({ run, id }, outcome, failure = "") =>
            say(`${run} ${id.slice(0, 8)} ${outcome} ${failure}`.trimEnd()),
          ...(name === undefined ? {} : { name }),
        });
        say(`${groups} groups`);
        return 0;
      });
    } finally {
      await queue.close();
    }
  },
};
