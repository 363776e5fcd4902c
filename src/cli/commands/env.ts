import { defined } from "../../defined.ts";
import { nearest } from "../../nearest.ts";
import type { Command, Terminal } from "../command.ts";
import { columns } from "../help-text.ts";
import { type OptionTable, type Parsed, parseOptions, usageError } from "../parse-options.ts";

const options = {
  json: { type: "boolean", summary: "Print one JSON value" },
  style: { type: "string", choices: ["tags", "compact"], summary: "Format of a shipped environment's messages" },
  tasks: { type: "number", summary: "check: tasks per split" },
} as const satisfies OptionTable;

export const env: Command = {
  name: "env",
  summary: "List environments, or check that one keeps its contract",
  usage: "list | check <name|file.ts>",
  options,
  details: `list   Names, descriptions, splits and limits of the shipped environments
check  Plays an environment with its expert and with random, malformed and hostile actions, and reports violations.
       An agent (agentEnv) is played with a model that is not there: does it ask it, by its name, and return a reward?`,
  example: "ludus env check ./my-env.ts",
  async run(args, terminal) {
    const parsed = parseOptions(args, options);
    const [action] = parsed.positionals;
    if (action === "list") return list(parsed, terminal);
    if (action === "check") return check(parsed, terminal);
    const meant = nearest(action ?? "", ["list", "check"]);
    throw usageError("bad-usage", {
      got: action === undefined ? "nothing" : `"${action}"`,
      expected: "list or check",
      hint: meant === undefined ? "See ludus env --help." : `Did you mean "ludus env ${meant}"?`,
    });
  },
};

// environments are loaded when needed

async function list({ values: { json, style } }: Parsed<typeof options>, { stdout }: Terminal): Promise<number> {
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
    stdout.write(`${found}${report.env} ${kept}: ${report.episodes} episodes played\n`);
  }
  return broken === 0 ? 0 : 1;
}
