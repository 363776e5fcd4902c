import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { shellArgs } from "../../tool/code-tools/shell.ts";
import { describeEnd } from "../../tool/sandbox/describe-end.ts";
import type { ExecOptions } from "../../tool/sandbox/sandbox.ts";
import { type ActionTool, type ToolOutcome, type ToolTrajectory, taggedText } from "./action-tool.ts";

export interface CodeToolOptions {
  /** Of one call. */
  readonly timeoutMs: number;
}

export const codeToolOptions: KnownOptions<CodeToolOptions> = { timeoutMs: true };

export interface SqlActionOptions extends CodeToolOptions {
  /** A SQLite file. */
  readonly database: Uint8Array;
}

const sqlActionOptions: KnownOptions<SqlActionOptions> = { ...codeToolOptions, database: true };

/** Python in the trajectory's box: `<python>…</python>` or a fence. Files stay from one call to the next, variables do not. */
export function pythonAction(options: CodeToolOptions): ActionTool {
  refuseUnknownOptions("pythonAction", options, codeToolOptions);
  const { timeoutMs } = options;
  const code = (action: string) => taggedText(action, ["python", "py"]);
  return {
    name: "python",
    usage: "<python>print(1 + 1)</python>",
    priority: (action) => (code(action) === undefined ? -1 : 1),
    run: (action, trajectory) => execute(trajectory, "python3", ["-"], { input: code(action)!, timeoutMs }),
  };
}

/** Bash in the trajectory's box: `<bash>…</bash>` or a fence. Folder, variables, functions and files stay. */
export function shellAction(options: CodeToolOptions): ActionTool {
  refuseUnknownOptions("shellAction", options, codeToolOptions);
  const { timeoutMs } = options;
  const command = (action: string) => taggedText(action, ["bash", "sh", "shell"]);
  return {
    name: "shell",
    usage: "<bash>ls</bash>",
    priority: (action) => (command(action) === undefined ? -1 : 1),
    run: (action, trajectory) => execute(trajectory, "bash", shellArgs(command(action)!), { timeoutMs }),
  };
}

const sqlProgram = `
import sqlite3, sys
connection = sqlite3.connect("data.db", isolation_level=None)
try:
    cursor = connection.cursor()
    rows, statement = [], ""
    for part in sys.stdin.read().rstrip().rstrip(";").split(";") + [None]:
        # a semicolon in a string ends nothing
        if part is not None: statement += part + ";"
        if part is None or sqlite3.complete_statement(statement):
            if statement.strip(" \\n\\t;"):
                cursor.execute(statement)
                rows = cursor.fetchmany(51) if cursor.description else []
            statement = ""
    if cursor.description: print(" | ".join(column[0] for column in cursor.description))
    for row in rows[:50]: print(" | ".join("NULL" if value is None else str(value) for value in row))
    if len(rows) > 50: print("(more rows)")
    if not cursor.description: print("ok")
except sqlite3.Error as error:
    print(f"Error: {error}")
`;

/** SQL on a copy of a SQLite database for each trajectory: `<sql>…</sql>`. `<solution>…</solution>` is an answer and ends it. */
export function sqlAction(options: SqlActionOptions): ActionTool {
  refuseUnknownOptions("sqlAction", options, sqlActionOptions);
  const { timeoutMs, database } = options;
  const query = (action: string) => taggedText(action, ["sql"]);
  const isAnswer = (action: string) => query(action) === undefined && taggedText(action, ["solution"]) !== undefined;
  return {
    name: "sql",
    usage: "<sql>SELECT name FROM sqlite_master</sql>, and <solution>…</solution> for the answer",
    priority: (action) => (query(action) !== undefined || isAnswer(action) ? 1 : -1),
    async run(action, trajectory) {
      if (isAnswer(action)) return { observation: "", isDone: true };
      if (!trajectory.state.has("sql")) {
        await (await trajectory.box.open()).write("data.db", database);
        trajectory.state.set("sql", true);
      }
      return await execute(trajectory, "python3", ["-c", sqlProgram], { input: query(action)!, timeoutMs });
    },
  };
}

async function execute(
  { box, signal }: ToolTrajectory,
  command: string,
  args: readonly string[],
  { input, timeoutMs }: Pick<ExecOptions, "input"> & CodeToolOptions,
): Promise<ToolOutcome> {
  const options = { args, limits: { timeoutMs }, signal, ...(input === undefined ? {} : { input }) };
  const ended = await (await box.open()).exec(command, options);
  // not the policy's doing
  if (ended.kind === "not-started" || ended.kind === "cancelled") {
    throw new LudusError("command-not-run", { got: `${command} ${describeEnd(ended)}`, expected: "a box that has it" });
  }
  const printed = [ended.stdout.trimEnd(), ended.stderr.trim()].filter((part) => part !== "").join("\n");
  if (ended.kind === "exited" && ended.code === 0) return { observation: printed };
  return { observation: [printed, `(${describeEnd(ended)})`].filter((part) => part !== "").join("\n") };
}
