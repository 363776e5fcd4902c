import { z } from "zod";
import { exactMatchScore, normalizeAnswer, tokenF1 } from "../../scorer/normalize-answer.ts";
import { splitWords } from "../../scorer/python-strings.ts";
import type { Benchmark, BenchmarkScore, BenchmarkTask } from "./benchmark.ts";
import { findFile, findFiles, readRecords } from "./read-records.ts";

interface Question {
  readonly id: string;
  readonly question: string;
  readonly answers: readonly string[];
  readonly passages: readonly { readonly title: string; readonly text: string }[];
  readonly category?: string;
  readonly f1: (said: string, answers: readonly string[]) => number;
}

const HotpotRow = z.object({
  _id: z.string(),
  question: z.string(),
  answer: z.string(),
  type: z.string().optional(),
  answer_id: z.string().nullish(),
  context: z.array(z.tuple([z.string(), z.array(z.string())])),
});

/** HotpotQA, distractor setting: exact match and F1 of the answer, as `hotpot_evaluate_v1.py`. */
export const hotpotQa: Benchmark = {
  name: "hotpotqa",
  description: "HotpotQA with its ten passages: exact match and F1 of the answer",
  files: "hotpot_dev_distractor_v1.json",
  async load(folder) {
    const rows = await readRecords(await findFile(folder, [/^hotpot_.*\.json$/]), HotpotRow);
    return rows.map((row) => toTask(toQuestion(row, [row.answer])));
  },
};

const AliasRow = z.object({ Q_id: z.string(), aliases: z.array(z.string()), demonyms: z.array(z.string()).optional() });

/** 2WikiMultiHopQA: the same scores; the best over aliases where `id_aliases.json` is there, as in its version 1.1. */
export const twoWiki: Benchmark = {
  name: "2wiki",
  description: "2WikiMultiHopQA with its passages: exact match and F1 of the answer",
  files: "dev.json, and id_aliases.json where aliases count",
  async load(folder) {
    const rows = await readRecords(await findFile(folder, ["dev.json", /^(?!id_aliases).*\.json$/]), HotpotRow);
    const paths = await findFiles(folder, ["id_aliases.json", /\.json$/]);
    const known = paths[0].endsWith("id_aliases.json") ? await readRecords(paths[0], AliasRow) : [];
    const aliases = new Map(known.map((row) => [row.Q_id, [...row.aliases, ...(row.demonyms ?? [])]]));
    return rows.map((row) => toTask(toQuestion(row, [row.answer, ...(aliases.get(row.answer_id ?? "") ?? [])])));
  },
};

const MusiqueRow = z.object({
  id: z.string(),
  question: z.string(),
  answer: z.string(),
  answer_aliases: z.array(z.string()),
  answerable: z.literal(true, { error: "a question that can be answered: files of musique_ans, not musique_full" }),
  paragraphs: z.array(z.object({ title: z.string(), paragraph_text: z.string() })),
});

/** MuSiQue-Ans: exact match and F1 of the answer, the best over its aliases. */
export const musique: Benchmark = {
  name: "musique",
  description: "MuSiQue-Ans with its passages: exact match and F1 of the answer",
  files: "musique_ans_v1.0_dev.jsonl",
  async load(folder) {
    const rows = await readRecords(await findFile(folder, [/^musique.*dev\.jsonl$/, /\.jsonl$/]), MusiqueRow);
    return rows.map(({ id, question, answer, answer_aliases: aliases, paragraphs }) => {
      const passages = paragraphs.map(({ title, paragraph_text: text }) => ({ title, text }));
      return toTask({
        ...{ id, question, passages, answers: [answer, ...aliases], category: `${id.split("hop")[0]}hop` },
        f1: (said, answers) => Math.max(...answers.map((gold) => squadF1(said, gold))),
      });
    });
  },
};

/** SQuAD 2.0's, which MuSiQue uses: where a side has no words, 1 for neither having any. */
function squadF1(said: string, gold: string): number {
  const [a, b] = [splitWords(normalizeAnswer(said)), splitWords(normalizeAnswer(gold))];
  if (a.length === 0 || b.length === 0) return a.length === b.length ? 1 : 0;
  const left = Map.groupBy(b, (word) => word);
  let same = 0;
  for (const word of a) if (left.get(word)?.pop() !== undefined) same++;
  return (2 * same) / (a.length + b.length);
}

function toQuestion(row: z.infer<typeof HotpotRow>, answers: readonly string[]): Question {
  const passages = row.context.map(([title, sentences]) => ({ title, text: sentences.join("") }));
  const { _id: id, question, type } = row;
  return { id, question, answers, passages, f1: tokenF1, ...(type === undefined ? {} : { category: type }) };
}

const rule =
  "Answer the question from the passages. Reason first if you need to; end with a line of Answer: and the shortest answer that is right, such as: Answer: Paris";

function toTask({ id, question, answers, passages, category, f1 }: Question): BenchmarkTask {
  const shown = passages.map(({ title, text }, index) => `[${index + 1}] ${title}\n${text}`).join("\n\n");
  return {
    id,
    text: question,
    ...(category === undefined ? {} : { category }),
    async attempt(chat): Promise<BenchmarkScore> {
      const content = `${rule}\n\n${shown}\n\nQuestion: ${question}`;
      const said = finalAnswer((await chat({ messages: [{ role: "user", content }] })).text);
      const em = exactMatchScore(said, answers);
      return { success: em === 1, metrics: { em, f1: f1(said, answers) } };
    },
  };
}

/** What follows the last `Answer:` on its line; the whole text where there is none. */
export function finalAnswer(text: string): string {
  const at = text.toLowerCase().lastIndexOf("answer:");
  return (
    at === -1
      ? text
      : text
          .slice(at + "answer:".length)
          .trimStart()
          .split("\n")[0]
  ).trim();
}
