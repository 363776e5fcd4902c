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
const sum = {
  name: "add",
  description: "Adds",
  parameters: {
    type: "dict",
    properties: { a: { type: "integer", description: "" }, b: { type: "integer", description: "" } },
    required: ["a", "b"],
  },
};
const asked = (content: string) => [[{ role: "user", content }]];
const answerOf = (city: string) => ({ "weather.get": { city: [city], days: [3, ""], at: [[48.2, 16.4], ""] } });

const shirt = {
  asin: "B000000001",
  name: "Acme Men's Cotton Shirt Long Sleeve",
  category: "fashion",
  query: "men's shirts",
  product_category: "Clothing › Men › Shirts",
  full_description: "A soft shirt.",
  small_description: ["machine washable", "classic fit"],
  pricing: "$19.99",
  customization_options: {
    Color: [{ value: "Navy Blue" }, { value: "Red" }],
    Size: [{ value: "Small" }, { value: "Large" }],
  },
  images: [""],
};
const lamp = {
  ...{ asin: "B000000002", name: "Desk Lamp with USB", category: "garden", query: "lamps", pricing: "$30$50" },
  ...{ product_category: "Home › Lighting › Lamps", full_description: "Bright.", small_description: "led" },
  ...{ customization_options: "", images: [""] },
};

const game = (solvable: boolean) => JSON.stringify({ pddl_domain: "", grammar: "", pddl_problem: "", solvable });
const trajectory = (type: string) => {
  return JSON.stringify({ task_type: type, turk_annotations: { anns: [{ task_desc: "Put a mug on the desk." }] } });
};

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
  webshop: {
    "items_shuffle_1000.json": JSON.stringify([shirt, lamp, { ...shirt, name: "twice" }]),
    "items_ins_v2_1000.json": JSON.stringify({ [shirt.asin]: { attributes: ["long sleeve", "machine wash"] } }),
    "items_human_ins.json": JSON.stringify({
      [shirt.asin]: [
        {
          instruction: "i want a machine washable shirt for men in navy, size large.",
          instruction_attributes: ["machine washable", "long sleeve"],
          instruction_options: ["navy blue", "large"],
        },
        { instruction: "none", instruction_attributes: [], instruction_options: [] },
      ],
    }),
  },
  alfworld: {
    "pick-mug/trial_1/traj_data.json": trajectory("pick_and_place_simple"),
    "pick-mug/trial_1/game.tw-pddl": game(true),
    "pick-mug/trial_2/traj_data.json": trajectory("pick_and_place_simple"),
    "pick-mug/trial_2/game.tw-pddl": game(false),
    "pick-mug-Sliced/trial_1/traj_data.json": trajectory("pick_and_place_simple"),
    "pick-mug-Sliced/trial_1/game.tw-pddl": game(true),
    "other/trial_1/traj_data.json": trajectory("stack"),
    "other/trial_1/game.tw-pddl": game(true),
  },
  "bfcl-exec": {
    "BFCL_v4_exec_simple.json": lines([{ id: "exec_simple_0", question: asked("2 + 3?"), function: [sum] }]),
    "BFCL_v4_exec_parallel.json": lines([
      { id: "exec_parallel_0", question: asked("2 + 3, and news?"), function: [sum, { ...sum, name: "news" }] },
    ]),
    "possible_answer/BFCL_v4_exec_simple.json": lines([
      { id: "exec_simple_0", ground_truth: ["add(a=2, b=3)"], execution_result_type: ["exact_match"] },
    ]),
    "possible_answer/BFCL_v4_exec_parallel.json": lines([
      {
        id: "exec_parallel_0",
        ground_truth: ["add(a=2, b=3)", "news(a=1, b=1)"],
        execution_result_type: ["real_time_match", "structural_match"],
      },
    ]),
    "executable_python_function.py":
      "import os\n\ndef add(a, b):\n    return a + b\n\ndef news(a, b):\n    return {'titles': [a] * b}\n",
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
