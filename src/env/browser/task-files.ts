import { z } from "zod";
import { LudusError } from "../../errors.ts";

// Only what is used is named; files have more fields, which are passed over.
const texts = z.union([z.string(), z.array(z.string())]);
const webArenaRecord = z.object({
  task_id: z.number().int(),
  sites: z.array(z.string()),
  require_login: z.boolean().optional(),
  start_url: z.string(),
  intent: z.string(),
  /** VisualWebArena: pictures that belong to the intent. */
  image: z.union([texts, z.null()]).optional(),
  eval: z.object({
    eval_types: z.array(z.string()),
    reference_answers: z
      .object({
        exact_match: z.string().optional(),
        must_include: z.array(z.string()).optional(),
        fuzzy_match: texts.optional(),
      })
      .nullish(),
    reference_url: z.string().nullish(),
    program_html: z.array(z.record(z.string(), z.unknown())).nullish(),
    page_image_query: z.array(z.record(z.string(), z.unknown())).nullish(),
  }),
});
const webShopRecord = z.object({
  asin: z.string(),
  instruction: z.string(),
  instruction_attributes: z.array(z.string()),
  instruction_options: z.array(z.string()),
});
const mind2WebRecord = z.object({
  annotation_id: z.string(),
  website: z.string(),
  domain: z.string(),
  confirmed_task: z.string(),
  action_reprs: z.array(z.string()),
  actions: z.array(
    z.object({
      action_uid: z.string(),
      cleaned_html: z.string(),
      operation: z.object({ op: z.enum(["CLICK", "TYPE", "SELECT"]), value: z.string() }),
      pos_candidates: z.array(z.object({ tag: z.string(), backend_node_id: z.string() })),
    }),
  ),
});

export type WebArenaTask = z.infer<typeof webArenaRecord>;
export type WebShopInstruction = z.infer<typeof webShopRecord>;
export type Mind2WebTask = z.infer<typeof mind2WebRecord>;

/** Tasks of WebArena and VisualWebArena, as published: a list, or the file of one task. */
export function readWebArena(json: string): WebArenaTask[] {
  const value = parse("WebArena", json);
  return (Array.isArray(value) ? value : [value]).map((record, index) =>
    checked("WebArena", webArenaRecord, record, index),
  );
}

/** Instructions of WebShop's `items_human_ins.json`: lists of them by product. */
export function readWebShop(json: string): WebShopInstruction[] {
  const byProduct = z.record(z.string(), z.array(z.unknown())).safeParse(parse("WebShop", json));
  if (!byProduct.success) throw unreadable("WebShop", "no object of lists");
  return Object.values(byProduct.data)
    .flat()
    .map((record, index) => checked("WebShop", webShopRecord, record, index));
}

/** Tasks of Mind2Web with the actions that people took. */
export function readMind2Web(json: string): Mind2WebTask[] {
  const value = parse("Mind2Web", json);
  if (!Array.isArray(value)) throw unreadable("Mind2Web", "no list");
  return value.map((record, index) => checked("Mind2Web", mind2WebRecord, record, index));
}

/**
 * WebArena's evaluators that need no page: `string_match` by `exact_match` and `must_include`, and `url_match`. Undefined for tasks that are
 * judged otherwise too: by a model, or by what is in pages.
 */
export function webArenaScore({ eval: how }: WebArenaTask, end: { answer: string; url: string }): 0 | 1 | undefined {
  const answers = how.reference_answers ?? {};
  const isKnown = how.eval_types.every((type) => type === "string_match" || type === "url_match");
  if (!isKnown || answers.fuzzy_match !== undefined) return undefined;
  const said = clean(end.answer);
  const isMet = how.eval_types.every((type) => {
    if (type === "url_match") return alternatives(how.reference_url ?? "").some((url) => bare(end.url) === bare(url));
    if (answers.exact_match !== undefined && said !== clean(answers.exact_match)) return false;
    return (answers.must_include ?? []).every((part) => said.includes(clean(part)));
  });
  return isMet ? 1 : 0;
}

const clean = (text: string) =>
  text
    .trim()
    .replace(/^['"]|['"]$/g, "")
    .toLowerCase();
const alternatives = (urls: string) => urls.split(" |OR| ");
const bare = (url: string) => url.trim().replace(/\/$/, "");

function parse(format: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw unreadable(format, error instanceof Error ? error.message : "no JSON");
  }
}

function checked<Schema extends z.ZodType>(
  format: string,
  schema: Schema,
  record: unknown,
  index: number,
): z.infer<Schema> {
  const read = schema.safeParse(record);
  if (read.success) return read.data;
  const [{ path, message }] = read.error.issues;
  throw unreadable(format, `record ${index}, ${path.join(".") || "itself"}: ${message}`);
}

function unreadable(format: string, why: string): LudusError {
  return new LudusError("bad-task-file", { got: why, expected: `tasks in the published format of ${format}` });
}
