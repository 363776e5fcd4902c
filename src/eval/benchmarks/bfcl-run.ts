import { basename, join } from "node:path";
import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { bfclName } from "../../scorer/bfcl-ast.ts";
import type { AttemptContext, Benchmark, BenchmarkMessage, BenchmarkScore, BenchmarkTask, Chat } from "./benchmark.ts";
import { askPython, openPython, type PythonAttempt } from "./benchmark-bridge.ts";
import { BfclFunctionRow, toTool } from "./bfcl-tools.ts";
import { findFiles, readRecords } from "./read-records.ts";
import { assistantMessage, isArguments } from "./tau.ts";

const Said = z.array(z.array(z.looseObject({ role: z.string(), content: z.string() }))).min(1);
const Valid = z.object({ valid: z.boolean() });

const ExecRow = z.object({ id: z.string(), question: Said, function: z.array(BfclFunctionRow) });
const ExecAnswer = z.object({
  id: z.string(),
  ground_truth: z.array(z.string()),
  execution_result_type: z.array(z.enum(["exact_match", "real_time_match", "structural_match"])),
});

/** BFCL's executable categories: calls are right where they return what the expected calls return. `rest` asks web services, and is left out. */
export const bfclExecutable: Benchmark = {
  name: "bfcl-exec",
  description: "BFCL's executable categories: what calls return, run by Python",
  files:
    "BFCL_v*_exec_<category>.json, possible_answer/ with the same names, executable_python_function.py of BFCL's repository",
  async load(folder) {
    const paths = await findFiles(folder, [/^BFCL_v\d+_exec_(?:simple|multiple|parallel|parallel_multiple)\.json$/]);
    await askPython("bfcl-exec", folder);
    return (await Promise.all(paths.map((path) => loadExecutable(folder, path)))).flat();
  },
};

async function loadExecutable(folder: string, path: string): Promise<readonly BenchmarkTask[]> {
  const answers = await answersOf(folder, path, ExecAnswer);
  return (await readRecords(path, ExecRow)).map((row) => {
    const { ground_truth: expected, execution_result_type: types } = answers(row.id);
    const [messages] = row.question;
    const names = new Map(row.function.map(({ name }) => [bfclName(name), name]));
    return {
      id: row.id,
      text: messages.map(({ content }) => content).join("\n"),
      category: categoryOf(path),
      async attempt(chat, { signal }) {
        const reply = await chat({ messages, tools: row.function.map(toTool) });
        if (!reply.calls.every((call) => isArguments(call.arguments))) return { success: false };
        const calls = reply.calls.map((call) => ({ ...call, name: names.get(call.name) ?? call.name }));
        await using python = await openPython("bfcl-exec", folder, {}, signal);
        return { success: Valid.parse(await python.ask("score", { calls, expected, types })).valid };
      },
    };
  });
}

const MultiTurnRow = z.looseObject({
  id: z.string(),
  question: z.array(z.array(z.looseObject({ role: z.string(), content: z.string() }))).min(1),
  initial_config: z.record(z.string(), z.unknown()),
  involved_classes: z.array(z.string()).min(1),
  missed_function: z.record(z.string(), z.array(z.string())).default({}),
});
const MultiTurnAnswer = z.object({ id: z.string(), ground_truth: z.array(z.array(z.string())) });
const Results = z.object({ results: z.array(z.string()) });

type MultiTurnEntry = z.infer<typeof MultiTurnRow>;
type FunctionRow = z.infer<typeof BfclFunctionRow>;

const documents: Readonly<Record<string, string>> = {
  GorillaFileSystem: "gorilla_file_system.json",
  MathAPI: "math_api.json",
  MessageAPI: "message_api.json",
  TwitterAPI: "posting_api.json",
  TicketAPI: "ticket_api.json",
  TradingBot: "trading_bot.json",
  TravelAPI: "travel_booking.json",
  VehicleControlAPI: "vehicle_control.json",
};
/** As in the published runs: more steps in one turn fail the task. */
const mostSteps = 20;
const moreFunctions = "There are more functions now. Please go on with them.";

/** BFCL's multi-turn categories: calls are run, and the verdict given, by the package bfcl-eval. */
export const bfclMultiTurn: Benchmark = {
  name: "bfcl-multi-turn",
  description: "BFCL's multi-turn categories: states and answers of simulated services, by bfcl-eval",
  files:
    "BFCL_v*_multi_turn_<category>.json, possible_answer/ with the same names, multi_turn_func_doc/; Python with bfcl-eval",
  async load(folder) {
    const kinds = /^BFCL_v\d+_multi_turn_(?:base|long_context|miss_func|miss_param)\.json$/;
    const paths = await findFiles(folder, [kinds]);
    await askPython("bfcl-multi-turn", folder);
    const functions = new Map<string, Promise<readonly FunctionRow[]>>();
    const functionsOf = (name: string) => {
      const read = functions.get(name) ?? readFunctions(folder, name);
      functions.set(name, read);
      return read;
    };
    return (await Promise.all(paths.map((path) => loadMultiTurn(folder, path, functionsOf)))).flat();
  },
};

async function readFunctions(folder: string, name: string): Promise<readonly FunctionRow[]> {
  if (Object.hasOwn(documents, name))
    return readRecords(join(folder, "multi_turn_func_doc", documents[name]), BfclFunctionRow);
  throw new LudusError("bad-benchmark-data", {
    got: `the class ${name}`,
    expected: `one of ${Object.keys(documents).join(", ")}`,
  });
}

async function loadMultiTurn(
  folder: string,
  path: string,
  functionsOf: (name: string) => Promise<readonly FunctionRow[]>,
): Promise<readonly BenchmarkTask[]> {
  const answers = await answersOf(folder, path, MultiTurnAnswer);
  const rows = await readRecords(path, MultiTurnRow);
  return Promise.all(
    rows.map(async (entry): Promise<BenchmarkTask> => {
      const functions = (await Promise.all(entry.involved_classes.map(functionsOf))).flat();
      const { ground_truth: truth } = answers(entry.id);
      return {
        id: entry.id,
        text: entry.question
          .flat()
          .map(({ content }) => content)
          .join("\n"),
        category: categoryOf(path),
        async attempt(chat, context: AttemptContext) {
          const message = { entry, answers: truth, functions: functions.map(({ name }) => name) };
          await using python = await openPython("bfcl-multi-turn", folder, message, context.signal);
          return await attemptTurns(python, entry, functions, chat);
        },
      };
    }),
  );
}

async function attemptTurns(
  python: PythonAttempt,
  entry: MultiTurnEntry,
  functions: readonly FunctionRow[],
  chat: Chat,
): Promise<BenchmarkScore> {
  const held = new Set(Object.values(entry.missed_function).flat());
  const messages: BenchmarkMessage[] = [];
  for (const [turn, asked] of entry.question.entries()) {
    const added = entry.missed_function[String(turn)];
    for (const name of added ?? []) held.delete(name);
    messages.push(...(added === undefined ? asked : [{ role: "user", content: moreFunctions }]));
    const tools = functions.filter(({ name }) => !held.has(name)).map(toTool);
    if (!(await takeTurn(python, turn, { messages, tools }, chat))) return { success: false };
  }
  return { success: Valid.parse(await python.ask("score")).valid };
}

/** Steps until nothing is called. False where there are too many. */
async function takeTurn(
  python: PythonAttempt,
  turn: number,
  { messages, tools }: { readonly messages: BenchmarkMessage[]; readonly tools: ReturnType<typeof toTool>[] },
  chat: Chat,
): Promise<boolean> {
  for (let step = 0; step <= mostSteps; step++) {
    const reply = await chat({ messages, tools });
    const canRun = reply.calls.every((call) => isArguments(call.arguments));
    // servers refuse a conversation with calls that were not answered, or whose arguments are no JSON
    messages.push(assistantMessage(reply, canRun ? reply.calls : []));
    if (reply.calls.length === 0 || !canRun) return true;
    const { results } = Results.parse(await python.ask("call", { turn, calls: reply.calls }));
    for (const [index, { id, name }] of reply.calls.entries())
      messages.push({ role: "tool", tool_call_id: id, name, content: results[index] });
  }
  return false;
}

async function answersOf<Row extends { id: string }>(folder: string, path: string, schema: z.ZodType<Row>) {
  const rows = await readRecords(join(folder, "possible_answer", basename(path)), schema);
  const known = new Map(rows.map((row) => [row.id, row]));
  return (id: string): Row => {
    const found = known.get(id);
    if (found !== undefined) return found;
    throw new LudusError("bad-benchmark-data", {
      got: `${id} without a possible answer`,
      expected: `one in possible_answer/${basename(path)}`,
    });
  };
}

function categoryOf(path: string): string {
  return /^BFCL_v\d+_(.*)\.json$/.exec(basename(path))![1];
}
