import { spawn } from "node:child_process";
import type { Command } from "../command.ts";
import { type OptionTable, parseOptions, usageError } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  port: { type: "number", most: 65535, summary: "Port; any free one by default", value: "number" },
  host: { type: "string", summary: "Address to listen on; 127.0.0.1 by default", value: "address" },
  env: {
    type: "string",
    value: "file.ts",
    isMany: true,
    summary: "File with an environment of yours (`env`, or a `config`) to play by hand; may be repeated",
  },
  open: { type: "boolean", summary: "Open the page in the browser" },
} as const satisfies OptionTable;

export const dashboard: Command = {
  name: "dashboard",
  summary: "Show runs in the browser, live: curves, trajectories, manual play",
  usage: "[folder|postgres://…]",
  options,
  details: `The folder holds runs, or is one; \`runs\` by default. A server of runs is
postgres://user@host/database. The page is reachable from this machine only, with the token in the
printed address; --host makes it reachable from the network. Ctrl-C stops it.

Play lists the shipped environments, those of --env, and the one of a run that ludus train made from a file in this folder.`,
  example: "ludus dashboard runs --open --env ./my-env.ts",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    const [runs = "runs", ...others] = positionals;
    const { port = 0, host = "127.0.0.1" } = values;
    if (others.length > 0) throw usageError("bad-usage", { got: positionals.join(" "), expected: "one folder" });
    const { serveDashboard } = await import("../../server/dashboard-server.ts");
    const { playable, envInFolder } = await import("../playable-envs.ts");
    const environments = await playable(values.env ?? []);
    return stoppable(terminal, async (signal) => {
      const { stdout, stderr } = terminal;
      const served = await serveDashboard({ runs, host, port, environments, loadEnv: envInFolder });
      stdout.write(`${served.url}\n`);
      if (values.open) openInBrowser(served.url, () => stderr.write("No browser could be opened; open the address.\n"));
      if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
      await served.close();
      return 0;
    });
  },
};

function openInBrowser(url: string, onFailure: () => void): void {
  const [program, ...args] = { darwin: ["open"], win32: ["cmd", "/c", "start", ""] }[process.platform as string] ?? [
    "xdg-open",
  ];
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  child.once("error", onFailure);
  child.unref();
}
