import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const lines = (rows: readonly unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

const hotpot = [
  {
    _id: "h1",
    question: "Which river flows through the capital of Austria?",
    answer: "the Danube",
    type: "bridge",
    level: "medium",
    supporting_facts: [["Vienna", 0]],
    context: [
      ["Vienna", ["Vienna is the capital of Austria.", " It lies on the Danube."]],
      ["Rhine", ["The Rhine is a river."]],
    ],
  },
  {
    _id: "h2",
    question: "Is Bonn in Germany?",
    answer: "yes",
    type: "comparison",
    level: "easy",
    supporting_facts: [],
    context: [["Bonn", ["Bonn is a city in Germany."]]],
  },
];

const weather = {
  name: "weather.get",
  description: "The weather of a city",
  parameters: {
    type: "dict",
    properties: {
      city: { type: "string", description: "Its name" },
      days: { type: "integer", description: "How many" },
      at: { type: "tuple", items: { type: "float" }, description: "Where" },
    },
    required: ["city"],
  },
};
const asked = (content: string) => [[{ role: "user", content }]];
const answerOf = (city: string) => ({ "weather.get": { city: [city], days: [3, ""], at: [[48.2, 16.4], ""] } });

/** A few records of each benchmark in the form of its published files, written for these tests. */
const files: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  gsm8k: {
    "test.jsonl": lines([
      {
        question: "Ann has 3 apples and buys 1,000 more. How many?",
        answer: "3 + 1000 = <<3+1000=1003>>1003\n#### 1,003",
      },
      { question: "Ben has 5 pears and eats 7. By how many is he short?", answer: "5 - 7 = -2\n#### -2" },
    ]),
  },
  math: {
    "test.jsonl": lines([
      { problem: "What is $1/2$?", solution: "It is $\\boxed{\\frac{1}{2}}$.", subject: "Algebra", level: 1 },
      { problem: "What is $x$ if $x^2=2$?", solution: "$\\boxed{\\sqrt{2}}$", type: "Precalculus" },
    ]),
  },
  hotpotqa: { "hotpot_dev_distractor_v1.json": JSON.stringify(hotpot) },
  "2wiki": {
    "dev.json": JSON.stringify(hotpot.map((row) => ({ ...row, answer_id: row._id === "h1" ? "Q1653" : null }))),
    "id_aliases.json": lines([{ Q_id: "Q1653", aliases: ["Donau", "Ister"], demonyms: [] }]),
  },
  musique: {
    "musique_ans_v1.0_dev.jsonl": lines([
      {
        id: "2hop__1_2",
        question: "Which sea does the river of Vienna reach?",
        question_decomposition: [],
        answer: "Black Sea",
        answer_aliases: ["the Euxine Sea"],
        answerable: true,
        paragraphs: [{ idx: 0, title: "Danube", paragraph_text: "It reaches the Black Sea.", is_supporting: true }],
      },
    ]),
  },
  gaia: {
    "metadata.jsonl": lines([
      { task_id: "g1", Question: "How many legs have 3 cats?", Level: 1, "Final answer": "12", file_name: "" },
      {
        task_id: "g2",
        Question: "Name two colours of the flag.",
        Level: "2",
        "Final answer": "red, white",
        file_name: "",
      },
      { task_id: "g3", Question: "What is in the file?", Level: 1, "Final answer": "x", file_name: "g3.pdf" },
    ]),
  },
  bfcl: {
    "BFCL_v4_simple_python.json": lines([
      { id: "simple_python_0", question: asked("Weather in Vienna?"), function: [weather] },
    ]),
    "BFCL_v4_parallel.json": lines([
      { id: "parallel_0", question: asked("Weather in Bonn and Rome?"), function: [weather] },
    ]),
    "BFCL_v4_irrelevance.json": lines([{ id: "irrelevance_0", question: asked("Sing a song."), function: [weather] }]),
    "possible_answer/BFCL_v4_simple_python.json": lines([
      { id: "simple_python_0", ground_truth: [answerOf("Vienna")] },
    ]),
    "possible_answer/BFCL_v4_parallel.json": lines([
      { id: "parallel_0", ground_truth: [answerOf("Bonn"), answerOf("Rome")] },
    ]),
  },
};

/** Writes them into a new folder and returns its path. */
export function publishedFiles(benchmark: string, more: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), `ludus-${benchmark}-`));
  for (const [name, text] of Object.entries({ ...files[benchmark], ...more })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}
