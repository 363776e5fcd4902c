import { defined } from "../../defined.ts";
import type { Command } from "../command.ts";
import { type OptionTable, parseOptions, usageError } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  port: { type: "number", most: 65535, summary: "Port; any free one by default", value: "number" },
  host: { type: "string", summary: "Address to listen on; 127.0.0.1 by default", value: "address" },
  token: { type: "string", summary: "What clients must send; one is made by default", value: "token" },
  sandbox: {
    type: "string",
    choices: ["bubblewrap", "process"],
    summary: "Where commands run; bubblewrap by default, process keeps code from nothing",
  },
} as const satisfies OptionTable;

export const boxes: Command = {
  name: "boxes",
  summary: "Give boxes for a model's code to other machines",
  usage: "serve",
  options,
  details: `Programs elsewhere use them with remoteSandbox({ url, token }) of ludus/tool. Whoever has the token can run commands in boxes of
this machine. It speaks plain HTTP: put TLS before it on networks that you do not trust.`,
  example: "ludus boxes serve --port 8400",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    if (positionals.length !== 1 || positionals[0] !== "serve") {
      const got = positionals.length === 0 ? "nothing" : positionals.join(" ");
      throw usageError("bad-usage", { got, expected: "serve", hint: "See ludus boxes --help." });
    }
    const { serveBoxes } = await import("../../server/box-server.ts");
    const { requireBubblewrap } = await import("../../tool/sandbox/bubblewrap-available.ts");
    const { processSandbox } = await import("../../tool/sandbox/process-sandbox.ts");
    const { host, port, token } = values;
    return stoppable(terminal, async (signal) => {
      const isWeak = values.sandbox === "process";
      if (!isWeak) await requireBubblewrap();
      const server = await serveBoxes({
        ...defined({ host, port, token }),
        ...(isWeak && { sandbox: processSandbox() }),
      });
      terminal.stdout.write(`${server.url}\n`);
      if (token === undefined) terminal.stdout.write(`Token: ${server.token}\n`);
      if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
      await server.close();
      return 0;
    });
  },
};
