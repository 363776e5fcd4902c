import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { lastBoxed } from "../../scorer/boxed.ts";
import { hendrycksEqual } from "../../scorer/hendrycks-math.ts";
import type { Benchmark, BenchmarkTask } from "./benchmark.ts";
import { findFile, findFiles, readRecords } from "./read-records.ts";

const GsmRow = z.object({ question: z.string(), answer: z.string() });

/** GSM8K: the number after `####`, commas removed, has to be the same text (grade-school-math's `is_correct`). */
export const gsm8k: Benchmark = {
  name: "gsm8k",
  description: "GSM8K: grade school mathematics, the number after ####",
  files: "test.jsonl (question, answer)",
  async load(folder) {
    const rows = await readRecords(await findFile(folder, ["test.jsonl", /\.jsonl$/]), GsmRow);
    return rows.map(({ question, answer }, index): BenchmarkTask => {
      const gold = gsmAnswer(answer);
      if (gold === undefined)
        throw badRecord(`GSM8K's record ${index + 1}`, "an answer that ends in #### and a number");
      return {
        id: `gsm8k/${index}`,
        text: question,
        async attempt(chat) {
          const { text } = await chat({ messages: [{ role: "user", content: `${question}\n\n${gsmRule}` }] });
          return { success: gsmAnswer(text) === gold };
        },
      };
    });
  },
};

const gsmRule = "Think step by step. End with a line of #### and the answer, a number alone, such as: #### 42";

/** The first such number of the text, as in the released code. */
export function gsmAnswer(text: string): string | undefined {
  return /#### (-?[0-9.,]+)/.exec(text)?.[1].replaceAll(",", "");
}

const MathRow = z.object({
  problem: z.string(),
  solution: z.string(),
  answer: z.string().nullish(),
  subject: z.string().nullish(),
  type: z.string().nullish(),
  unique_id: z.string().nullish(),
});

/** MATH: the last `\boxed{}` is equal to that of the solution, by the released code's `is_equiv`. */
export const math: Benchmark = {
  name: "math",
  description: "MATH and MATH-500: the last \\boxed{} of the solution",
  files: "test.jsonl (problem, solution), or the folder test/<subject>/<number>.json",
  async load(folder) {
    const paths = await mathFiles(folder);
    const rows = (await Promise.all(paths.map((path) => readRecords(path, MathRow)))).flat();
    return rows.map((row, index): BenchmarkTask => {
      const gold = row.answer ?? lastBoxed(row.solution);
      if (gold === null) throw badRecord(`MATH's record ${index + 1}`, "a solution with \\boxed{}");
      const category = row.subject ?? row.type ?? undefined;
      return {
        id: row.unique_id ?? `math/${index}`,
        text: row.problem,
        ...(category === undefined ? {} : { category }),
        async attempt(chat) {
          const { text } = await chat({ messages: [{ role: "user", content: `${row.problem}\n\n${mathRule}` }] });
          return { success: hendrycksEqual(lastBoxed(text), gold) };
        },
      };
    });
  },
};

const mathRule = "Think step by step, and put the final answer within \\boxed{}.";

async function mathFiles(folder: string): Promise<readonly string[]> {
  const files = await findFiles(folder, ["test.jsonl", "test", /\.jsonl$/]);
  if (!files[0].endsWith("test")) return [files[0]];
  const paths = await readdir(files[0], { recursive: true });
  const records = paths.filter((path) => path.endsWith(".json")).sort();
  if (records.length === 0) throw badRecord(files[0], "folders of subjects with a file for each problem");
  return records.map((path) => join(files[0], path));
}

function badRecord(got: string, expected: string): LudusError {
  return new LudusError("bad-benchmark-data", { got, expected });
}
