import { spawnSync } from "node:child_process";
import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ChatReply, ChatRequest } from "./benchmark.ts";
import { benchmarkOf } from "./index.ts";
import { publishedFiles } from "./testing/published-files.ts";

const hasPython = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).status === 0;

/** As the package runs calls: what is no method of a class is evaluated as it stands. */
const utils = `
class Files:
    def __init__(self): self.names = []
    def touch(self, file_name): self.names.append(file_name)
    def _load(self, names): self.names = names

instances = {}

def execute_multi_turn_func_call(calls, config, classes, name, id, long_context):
    files = instances.setdefault(name, Files())
    results = []
    for call in calls:
        own = call.split("(")[0] in vars(Files)
        try:
            results.append(str(eval(("files." if own else "") + call)))
        except Exception as error:
            results.append(f"Error during execution: {error}")
    return results, []
`;
const checker = `
from . import multi_turn_utils

def multi_turn_checker(turns, answers, entry, category, name):
    return {"valid": multi_turn_utils.instances.setdefault(name, multi_turn_utils.Files()).names == ["a.txt"]}
`;
const at = "bfcl_eval/eval_checker/multi_turn_eval";
const packages = publishedFiles("none", {
  [`${at}/multi_turn_utils.py`]: utils,
  [`${at}/multi_turn_checker.py`]: checker,
  ...Object.fromEntries(
    ["bfcl_eval", "bfcl_eval/eval_checker", at].map((folder) => [`${folder}/__init__.py`, ""] as const),
  ),
});
const python = join(
  publishedFiles("none", { python: `#!/bin/sh\nPYTHONPATH='${packages}' exec python3 "$@"\n` }),
  "python",
);
chmodSync(python, 0o755);

const text = { type: "string", description: "" };
const touch = {
  name: "touch",
  description: "Makes a file",
  parameters: { type: "dict", properties: { file_name: text }, required: ["file_name"] },
};
const id = "multi_turn_base_0";
const question = [[{ role: "user", content: "Make a.txt." }], [{ role: "user", content: "Thanks." }]];
const folder = publishedFiles("none", {
  "BFCL_v4_multi_turn_base.json": JSON.stringify([
    { id, question, initial_config: {}, involved_classes: ["GorillaFileSystem"] },
  ]),
  "possible_answer/BFCL_v4_multi_turn_base.json": JSON.stringify([{ id, ground_truth: [["touch('a.txt')"], []] }]),
  "multi_turn_func_doc/gorilla_file_system.json": JSON.stringify([touch]),
});

type Call = readonly [name: string, args: string];

/** What the model is sent, and whether it was right, where it calls this, then nothing. */
async function play(...steps: readonly (readonly Call[])[]) {
  const [task] = await benchmarkOf("bfcl-multi-turn").load(folder);
  const sent: ChatRequest[] = [];
  const chat = async (request: ChatRequest): Promise<ChatReply> => {
    sent.push(structuredClone(request));
    const calls = (steps[sent.length - 1] ?? []).map(([name, args], i) => ({ id: `c${i}`, name, arguments: args }));
    return { text: "", calls };
  };
  const { success } = await task.attempt(chat, { signal: new AbortController().signal });
  return { success, messages: sent.at(-1)?.messages ?? [] };
}

describe.skipIf(!hasPython)("BFCL's multi-turn categories", () => {
  const before = process.env.LUDUS_ENVIRONMENTS;
  beforeAll(() => {
    process.env.LUDUS_ENVIRONMENTS = python;
  });
  afterAll(() => {
    process.env.LUDUS_ENVIRONMENTS = before;
    if (before === undefined) delete process.env.LUDUS_ENVIRONMENTS;
  });

  test("functions on offer are run", async () => {
    expect((await play([["touch", '{"file_name": "a.txt"}']])).success).toBe(true);
    expect((await play([["touch", '{"file_name": "b.txt"}']])).success).toBe(false);
  });

  test("nothing else of Python is, nor what the services keep for themselves", async () => {
    const path = join(folder, "written");
    const { success, messages } = await play([["open", JSON.stringify({ file: path, mode: "w" })]]);
    expect(success).toBe(false);
    expect(existsSync(path)).toBe(false);
    expect(messages.find(({ role }) => role === "tool")?.content).toMatch(/^Error/);
    expect((await play([["_load", '{"names": ["a.txt"]}']])).success).toBe(false);
    expect((await play([["exit", "{}"]])).success).toBe(false);
  });

  test("a call whose arguments cannot be read ends the turn, and is not sent back as a call nobody answered", async () => {
    const { success, messages } = await play([["touch", "{"]]);
    expect(success).toBe(false);
    expect(messages.some((message) => "tool_calls" in message)).toBe(false);
  });
});
