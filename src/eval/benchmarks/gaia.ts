import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { gaiaEqual } from "../../scorer/gaia-answer.ts";
import type { Benchmark, BenchmarkTask } from "./benchmark.ts";
import { findFile, readRecords } from "./read-records.ts";

const Row = z.object({
  task_id: z.string(),
  Question: z.string(),
  Level: z.union([z.string(), z.number()]),
  "Final answer": z.string(),
  file_name: z.string().nullish(),
});

const rule =
  "Answer the question. Report your reasoning, and end with a line of FINAL ANSWER: and the answer: a number, as few words as possible, or a list of these with commas. Write numbers without commas and units unless they are asked for, and words without articles and abbreviations.";

/**
 * GAIA's questions without a file, put to the model alone: it has no browser and no tools here, so that the figure is that of the model and
 * not of an agent. Test files have no answers (`?`) and are refused.
 */
export const gaia: Benchmark = {
  name: "gaia",
  description: "GAIA's questions that come without a file, answered by the model alone",
  files: "metadata.jsonl of the validation set",
  async load(folder) {
    const rows = await readRecords(await findFile(folder, ["metadata.jsonl", /\.jsonl$/]), Row);
    const answered = rows.filter((row) => row["Final answer"] !== "?" && !row.file_name);
    if (answered.length === 0) {
      throw new LudusError("bad-benchmark-data", {
        got: `${rows.length} records of ${folder} that have a file or no answer`,
        expected: "the validation set of GAIA, whose answers are public",
      });
    }
    return answered.map((row): BenchmarkTask => {
      return {
        id: row.task_id,
        text: row.Question,
        category: `level ${row.Level}`,
        async attempt(chat) {
          const content = `${rule}\n\n${row.Question}`;
          const { text } = await chat({ messages: [{ role: "user", content }] });
          const at = text.lastIndexOf("FINAL ANSWER:");
          const said =
            at === -1
              ? text
              : text
                  .slice(at + "FINAL ANSWER:".length)
                  .trim()
                  .split("\n")[0];
          return { success: gaiaEqual(said.trim(), row["Final answer"]) };
        },
      };
    });
  },
};
