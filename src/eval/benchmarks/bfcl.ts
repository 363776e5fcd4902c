import { basename, join } from "node:path";
import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { type BfclAnswer, bfclMatches } from "../../scorer/bfcl-ast.ts";
import { type PythonValue, parsePythonJson } from "../../scorer/python-json.ts";
import type { Benchmark, BenchmarkTask } from "./benchmark.ts";
import { BfclFunctionRow, readCalls, toTool } from "./bfcl-tools.ts";
import { findFiles, readRecords } from "./read-records.ts";

const Row = z.object({
  id: z.string(),
  question: z.array(z.array(z.looseObject({ role: z.string(), content: z.string() }))).min(1),
  function: z.union([z.array(BfclFunctionRow), BfclFunctionRow.transform((one) => [one])]),
});
const AnswerRow = z.object({
  id: z.string(),
  ground_truth: z.array(z.record(z.string(), z.record(z.string(), z.array(z.custom<PythonValue>())))),
});

/** Those whose answers are calls of Python functions, and those in which no function, or any, has to be called. */
const categories = [
  ...["simple", "simple_python", "multiple", "parallel", "parallel_multiple"],
  ...["live_simple", "live_multiple", "live_parallel", "live_parallel_multiple"],
  ...["irrelevance", "live_irrelevance", "live_relevance"],
];

/**
 * BFCL's single-turn categories by structure, through the endpoint's own tool calls. Left out: Java and JavaScript, whose arguments are source
 * text of these languages. `bfclExecutable` and `bfclMultiTurn` are the categories that are scored by running calls.
 */
export const bfcl: Benchmark = {
  name: "bfcl",
  description: "Berkeley Function Calling Leaderboard: single-turn calls by structure, and irrelevance",
  files: "BFCL_v*_<category>.json, and possible_answer/ with the same names",
  async load(folder) {
    const names = categories.map((category) => new RegExp(`^BFCL_v\\d+_${category}\\.json$`));
    const paths = await findFiles(folder, names);
    return (await Promise.all(paths.map(async (path) => loadCategory(folder, path)))).flat();
  },
};

async function loadCategory(folder: string, path: string): Promise<readonly BenchmarkTask[]> {
  const category = /^BFCL_v\d+_(.*)\.json$/.exec(basename(path))![1];
  const rows = await readRecords(path, Row);
  const isFree = category.includes("relevance");
  const answers = isFree
    ? []
    : await readRecords(join(folder, "possible_answer", basename(path)), AnswerRow, parsePythonJson);
  const known = new Map(answers.map(({ id, ground_truth: truth }) => [id, truth]));
  return rows.map((row) => {
    const truth = known.get(row.id);
    if (!isFree && truth === undefined) {
      throw new LudusError("bad-benchmark-data", {
        got: `${row.id} without a possible answer`,
        expected: `one in possible_answer/${basename(path)}`,
      });
    }
    return toTask(row, category, truth ?? []);
  });
}

function toTask(row: z.infer<typeof Row>, category: string, answers: readonly BfclAnswer[]): BenchmarkTask {
  const [messages] = row.question;
  return {
    id: row.id,
    text: messages.map(({ content }) => content).join("\n"),
    category,
    async attempt(chat) {
      const reply = await chat({ messages, tools: row.function.map(toTool) });
      if (category.includes("irrelevance")) return { success: reply.calls.length === 0 };
      if (category.includes("relevance")) return { success: reply.calls.length > 0 };
      const calls = readCalls(reply);
      return { success: calls !== undefined && bfclMatches(row.function, calls, answers, category) };
    },
  };
}
