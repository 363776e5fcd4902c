import { expect, test } from "vitest";
import { readMind2Web, readWebArena, readWebShop, webArenaScore } from "./task-files.ts";

// records written for these tests, with the fields of the published files
const arena = {
  sites: ["shopping"],
  task_id: 7,
  require_login: true,
  storage_state: "./.auth/shopping_state.json",
  start_url: "__SHOPPING__",
  geolocation: null,
  intent_template: "What does {{thing}} cost?",
  instantiation_dict: { thing: "the lamp" },
  intent: "What does the lamp cost?",
  require_reset: false,
  eval: {
    eval_types: ["string_match"],
    reference_answers: { must_include: ["$45", "lamp"] },
    reference_url: "",
    program_html: [],
  },
  intent_template_id: 3,
};

test("WebArena: a list or one task, judged by what was answered", () => {
  const [task] = readWebArena(JSON.stringify([arena]));
  expect(readWebArena(JSON.stringify(arena))).toEqual([task]);
  expect(webArenaScore(task, { answer: "The Lamp costs $45.", url: "" })).toBe(1);
  expect(webArenaScore(task, { answer: "The lamp costs $4", url: "" })).toBe(0);
});

test("WebArena: by the address, with alternatives; not what only a model or a page can say", () => {
  const at = { eval_types: ["url_match"], reference_answers: null, reference_url: "http://a/x |OR| http://a/y/" };
  const [task] = readWebArena(JSON.stringify({ ...arena, eval: at }));
  expect(["http://a/y", "http://a/x/", "http://a/z"].map((url) => webArenaScore(task, { answer: "", url }))).toEqual([
    1, 1, 0,
  ]);
  for (const other of [
    { ...at, eval_types: ["url_match", "program_html"] },
    { ...arena.eval, reference_answers: { fuzzy_match: ["about $45"] } },
  ]) {
    const [unknown] = readWebArena(JSON.stringify({ ...arena, eval: other }));
    expect(webArenaScore(unknown, { answer: "", url: "" })).toBeUndefined();
  }
});

test("VisualWebArena: the same with pictures", () => {
  const visual = {
    ...arena,
    image: ["http://a/lamp.png"],
    viewport_size: { width: 1280 },
    eval: { ...arena.eval, page_image_query: [] },
  };
  expect(readWebArena(JSON.stringify([visual]))[0].image).toEqual(["http://a/lamp.png"]);
});

test("WebShop: instructions by product", () => {
  const one = {
    asin: "B1",
    options: [],
    instruction: "i need a red lamp",
    attributes: ["red"],
    instruction_options: ["red"],
    instruction_attributes: ["lamp"],
    worker_id: "w",
  };
  expect(readWebShop(JSON.stringify({ B1: [one] }))).toMatchObject([{ asin: "B1", instruction_options: ["red"] }]);
});

test("Mind2Web: tasks with actions", () => {
  const task = {
    annotation_id: "a",
    website: "shop",
    domain: "Shopping",
    subdomain: "General",
    confirmed_task: "buy a lamp",
    action_reprs: ["[button] Buy -> CLICK"],
    actions: [
      {
        action_uid: "u",
        raw_html: "",
        cleaned_html: '<button backend_node_id="3">Buy</button>',
        operation: { original_op: "CLICK", value: "", op: "CLICK" },
        pos_candidates: [{ tag: "button", attributes: "{}", is_original_target: true, backend_node_id: "3" }],
        neg_candidates: [],
      },
    ],
  };
  expect(readMind2Web(JSON.stringify([task]))[0].actions[0].operation).toEqual({ op: "CLICK", value: "" });
});

test("what is not in the format is an error that says where", () => {
  expect(() => readWebArena("{")).toThrow("bad-task-file");
  expect(() => readWebArena(JSON.stringify([arena, { ...arena, intent: 3 }]))).toThrow("record 1, intent");
  expect(() => readWebShop("[]")).toThrow("no object of lists");
  expect(() => readMind2Web("{}")).toThrow("no list");
});
