import { defined } from "../../defined.ts";
import type { Command } from "../command.ts";
import { type OptionTable, parseOptions, usageError } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  tool: {
    type: "string",
    isMany: true,
    choices: ["python", "shell", "sql", "search"],
    summary: "A tool to serve; may be given several times",
  },
  database: { type: "string", value: "file", summary: "SQLite database of --tool sql; each trajectory has a copy" },
  documents: {
    type: "string",
    value: "file",
    summary: 'Documents of --tool search: lines of JSON, {"title": …, "text": …}',
  },
  mcp: { type: "string", value: "command or url", summary: "An MCP server whose tools are served too" },
  port: { type: "number", most: 65535, summary: "Port; any free one by default", value: "number" },
  host: { type: "string", summary: "Address to listen on; 127.0.0.1 by default; others need --key", value: "address" },
  key: { type: "string", summary: "Key that stands in the address", value: "key" },
  timeout: { type: "number", value: "seconds", summary: "Of one call; 10 by default" },
  parallel: { type: "number", summary: "Calls that run at once; 64 by default" },
  "done-if-invalid": { type: "boolean", summary: "End trajectories whose text has no call" },
  sandbox: {
    type: "string",
    choices: ["bubblewrap", "process"],
    summary: "Where code runs; bubblewrap by default, process keeps code from nothing",
  },
} as const satisfies OptionTable;

export const tools: Command = {
  name: "tools",
  summary: "Serve tools to trainers elsewhere, with Verl-Tool's protocol",
  usage: "serve",
  options,
  details: `Trainers take the printed address as their tool_server_url. Each trajectory has a box of its own until it is finished:
files and, for shell, the folder and variables stay from one call to the next; sql works on the trajectory's own copy.`,
  example: "ludus tools serve --tool python --tool shell --port 5500",
  async run(args, terminal) {
    const { values, positionals } = parseOptions(args, options);
    if (positionals.length !== 1 || positionals[0] !== "serve") {
      const got = positionals.length === 0 ? "nothing" : positionals.join(" ");
      throw usageError("bad-usage", { got, expected: "serve", hint: "See ludus tools --help." });
    }
    const { actionTools } = await import("../action-tools.ts");
    const { serveTools } = await import("../../server/tool-server.ts");
    const { requireBubblewrap } = await import("../../tool/sandbox/bubblewrap-available.ts");
    const { processSandbox } = await import("../../tool/sandbox/process-sandbox.ts");
    const { tool: names = [], database, documents, mcp, timeout = 10, host, port, key } = values;
    const isWeak = values.sandbox === "process";
    return stoppable(terminal, async (signal) => {
      const timeoutMs = timeout * 1000;
      const served = await actionTools({ names, timeoutMs, ...defined({ database, documents, mcp }) });
      if (!isWeak && names.some((name) => name !== "search")) await requireBubblewrap();
      const server = await serveTools({
        tools: served,
        ...defined({ host, port, apiKey: key, concurrency: values.parallel, doneIfInvalid: values["done-if-invalid"] }),
        ...(isWeak && { sandbox: processSandbox() }),
      });
      terminal.stdout.write(`${server.url}\n`);
      if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
      await server.close();
      return 0;
    });
  },
};
