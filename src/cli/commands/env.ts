import { defined } from "../../defined.ts";
import { nearest } from "../../nearest.ts";
import type { Command, Terminal } from "../command.ts";
import { columns } from "../help-text.ts";
import { harmless } from "../paint.ts";
import { type OptionTable, type Parsed, parseOptions, usageError } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";

const options = {
  json: { type: "boolean", summary: "Print one JSON value" },
  style: { type: "string", choices: ["tags", "compact"], summary: "Format of a shipped environment's messages" },
  tasks: { type: "number", summary: "check: tasks per split" },
  from: {
    type: "string",
    choices: ["gymnasium", "reasoning-gym", "textarena", "verifiers"],
    summary: "list: the environments of a Python library, which pythonEnv plays",
    value: "library",
  },
  openenv: { type: "boolean", summary: "serve: OpenEnv's protocol in place of MCP" },
  port: { type: "number", most: 65535, summary: "serve: port; any free one by default", value: "number" },
  host: { type: "string", summary: "serve: address to listen on; 127.0.0.1 by default", value: "address" },
} as const satisfies OptionTable;

export const env: Command = {
  name: "env",
  summary: "List environments, check that one keeps its contract, or serve one",
  usage: "list | check <name|file.ts> | serve <name|file.ts>",
  options,
  details: `list   Names, descriptions, splits and limits of the shipped environments
check  Plays an environment with its expert and with random, malformed and hostile actions, and reports violations.
       An agent (agentEnv) is played with a model that is not there: does it ask it, by its name, and return a reward?
serve  Serves an environment to agents that speak MCP, version 2026-07-28 or earlier, or with --openenv to clients of OpenEnv
       (its Python package, TRL).
       There is no password: --host makes it reachable for everyone who reaches that address. Ctrl-C stops it.`,
  example: "ludus env check ./my-env.ts",
  async run(args, terminal) {
    const parsed = parseOptions(args, options);
    const [action] = parsed.positionals;
    if (action === "list") return list(parsed, terminal);
    if (action === "check") return check(parsed, terminal);
    if (action === "serve") return serve(parsed, terminal);
    const meant = nearest(action ?? "", ["list", "check", "serve"]);
    throw usageError("bad-usage", {
      got: action === undefined ? "nothing" : `"${action}"`,
      expected: "list, check or serve",
      hint: meant === undefined ? "See ludus env --help." : `Did you mean "ludus env ${meant}"?`,
    });
  },
};

// environments are loaded when needed

async function list({ values: { json, style, from } }: Parsed<typeof options>, { stdout }: Terminal): Promise<number> {
  if (from !== undefined) {
    const { listPythonEnvs } = await import("../../env/python/python-env.ts");
    const names = await listPythonEnvs(from);
    stdout.write(json ? `${JSON.stringify(names)}\n` : harmless(`${names.join("\n")}\n`));
    return 0;
  }
  const { shippedEnvs } = await import("../../env/environments/index.ts");
  const all = Object.entries(shippedEnvs).map(([name, { make }]) => {
    const { description, tasks, limits } = make(style && { style });
    return { name, description, splits: tasks.splits, limits };
  });
  if (json) {
    stdout.write(`${JSON.stringify(all)}\n`);
    return 0;
  }
  const rows = all.flatMap(({ name, description, splits, limits }): [string, string][] => [
    [name, description],
    ["", `${splits.join(", ")}; ${limits.turns} turns of ${limits.turnTokens} tokens, ${limits.tokens} in all`],
  ]);
  stdout.write(`${columns(rows)}\n`);
  return 0;
}

async function check({ values, positionals }: Parsed<typeof options>, { stdout }: Terminal): Promise<number> {
  const { json, style, tasks } = values;
  const { checkEnv, describeFindings } = await import("../../env/check-env.ts");
  const { isEnv, loadWorld } = await import("../load-env.ts");
  const checked = await loadWorld(positionals[1], style && { style });
  const options = { throw: false, ...defined({ tasks }) };
  const report = isEnv(checked)
    ? await checkEnv(checked, options)
    : await (await import("../../server/check-agent.ts")).checkAgent(checked, options);
  const broken = report.findings.filter(({ isWarning }) => !isWarning).length;
  if (json) stdout.write(`${JSON.stringify(report)}\n`);
  else {
    const found = report.findings.length === 0 ? "" : `${describeFindings(report.findings)}\n`;
    const kept = broken === 0 ? "keeps its promises" : `breaks ${broken} of its promises`;
    stdout.write(harmless(`${found}${report.env} ${kept}: ${report.episodes} episodes played\n`));
  }
  return broken === 0 ? 0 : 1;
}

async function serve({ values, positionals }: Parsed<typeof options>, terminal: Terminal): Promise<number> {
  const { openenv = false, port = 0, host, style } = values;
  const { loadEnv } = await import("../load-env.ts");
  const { serveEnv } = await import("../../env/serve-env.ts");
  const served = await loadEnv(positionals[1], style && { style });
  return stoppable(terminal, async (signal) => {
    const protocol = openenv ? "openenv" : "mcp";
    const server = await serveEnv(served, { port, protocol, ...defined({ host }) });
    terminal.stdout.write(`${server.url}\n`);
    if (!signal.aborted) await new Promise((done) => signal.addEventListener("abort", done, { once: true }));
    await server.close();
    return 0;
  });
}
