import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Checkpoints } from "./checkpoints.ts";

let run: string;
beforeEach(() => {
  run = mkdtempSync(join(tmpdir(), "ludus-checkpoints-"));
});
afterEach(() => rmSync(run, { recursive: true }));

/** An engine whose weights are a text. */
function textEngine(text: string) {
  const engine = {
    text,
    async save(directory: string) {
      mkdirSync(directory);
      writeFileSync(join(directory, "weights"), engine.text);
      mkdirSync(join(directory, "training"));
      writeFileSync(join(directory, "training", "moments"), engine.text.repeat(3));
    },
    async load(directory: string) {
      engine.text = readFileSync(join(directory, "weights"), "utf8");
    },
  };
  return engine;
}

const entries = () => readdirSync(join(run, "checkpoints")).sort();

test("what was saved is loaded", async () => {
  const checkpoints = new Checkpoints(run);
  expect(checkpoints.steps()).toEqual([]);
  await checkpoints.save(textEngine("twelve"), 12);
  await checkpoints.save(textEngine("three"), 3);
  expect(new Checkpoints(run).steps()).toEqual([3, 12]);
  const engine = textEngine("");
  await checkpoints.load(engine, 12);
  expect(engine.text).toBe("twelve");
});

test("the chat template of the training takes the place of the tokenizer's", async () => {
  const checkpoints = new Checkpoints(run);
  const engine = {
    async save(directory: string) {
      mkdirSync(directory);
      writeFileSync(join(directory, "tokenizer.json"), "{}");
      writeFileSync(join(directory, "chat_template.jinja"), "the tokenizer's");
    },
  };
  const directory = await checkpoints.save(engine, 1, "the training's");
  expect(readFileSync(join(directory, "chat_template.jinja"), "utf8")).toBe("the training's");
  await checkpoints.load({ load: async () => {} }, 1);
  // nothing to put a template beside
  expect(existsSync(join(await checkpoints.save(textEngine("x"), 2, "the training's"), "chat_template.jinja"))).toBe(
    false,
  );
});

test("a step may be saved again", async () => {
  const checkpoints = new Checkpoints(run);
  await checkpoints.save(textEngine("old"), 1);
  await checkpoints.save(textEngine("new"), 1);
  const engine = textEngine("");
  await checkpoints.load(engine, 1);
  expect(engine.text).toBe("new");
  expect(entries()).toEqual(["step-000001"]);
});

test("the newest are kept, and those that are asked for", async () => {
  const checkpoints = new Checkpoints(run);
  for (const step of [1, 2, 3, 4]) await checkpoints.save(textEngine("x"), step);
  checkpoints.retain(2, (step) => step === 1);
  expect(checkpoints.steps()).toEqual([1, 3, 4]);
  expect(entries()).toHaveLength(3);
});

test("what a crash left is no checkpoint, and gone after the next save", async () => {
  const left = [
    "unfinished-step-000007",
    ".unfinished-step-000007.123-0.partial",
    ".unfinished-step-000007.123-0.partial.old",
    "unfinished-removal-of-step-000001",
  ];
  for (const name of left) mkdirSync(join(run, "checkpoints", name), { recursive: true });
  const checkpoints = new Checkpoints(run);
  expect(checkpoints.steps()).toEqual([]);
  await checkpoints.save(textEngine("x"), 8);
  expect(entries()).toEqual(["step-000008"]);
});

describe("a save that fails", () => {
  test("for want of room is explained, leaves the last one in place and takes no room", async () => {
    const checkpoints = new Checkpoints(run);
    await checkpoints.save(textEngine("good"), 4);
    const full = {
      async save(directory: string) {
        mkdirSync(directory);
        writeFileSync(join(directory, "weights"), "half of the wei");
        throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", syscall: "write" });
      },
    };
    const saving = checkpoints.save(full, 6);
    await expect(saving).rejects.toMatchObject({ code: "checkpoint-not-saved" });
    await expect(saving).rejects.toThrow(/ENOSPC.*room and permission to write in .*checkpoints.*step-000004/s);
    expect(entries()).toEqual(["step-000004"]);
    expect(checkpoints.steps()).toEqual([4]);
  });

  test("because a folder cannot be made is explained too", async () => {
    writeFileSync(join(run, "checkpoints"), "a file where a folder should be");
    const saving = new Checkpoints(run).save(textEngine("x"), 0);
    await expect(saving).rejects.toMatchObject({ code: "checkpoint-not-saved" });
  });

  test("through a mistake of the program is that mistake", async () => {
    const save = () => Promise.reject(new TypeError("a bug"));
    await expect(new Checkpoints(run).save({ save }, 0)).rejects.toThrow(TypeError);
  });
});

test("a checkpoint of an earlier version, with its list of files at the top, is checked and loaded", async () => {
  const checkpoints = new Checkpoints(run);
  await checkpoints.save(textEngine("older"), 1);
  const directory = checkpoints.directory(1);
  const list = JSON.parse(readFileSync(join(directory, "training", "checkpoint.json"), "utf8"));
  const { "training/moments": moments, ...others } = list.files;
  renameSync(join(directory, "training", "moments"), join(directory, "moments"));
  rmSync(join(directory, "training"), { recursive: true });
  writeFileSync(join(directory, "checkpoint.json"), JSON.stringify({ ...list, files: { ...others, moments } }));
  const engine = textEngine("");
  await checkpoints.load(engine, 1);
  expect(engine.text).toBe("older");
  rmSync(join(directory, "moments"));
  await expect(checkpoints.load(engine, 1)).rejects.toThrow("moments is missing");
});

describe("a damaged checkpoint", () => {
  const damages: [string, (directory: string) => void][] = [
    ["a changed byte", (directory) => writeFileSync(join(directory, "training", "moments"), "goodgoodgooe")],
    ["a file cut short", (directory) => truncateSync(join(directory, "weights"), 2)],
    ["a missing file", (directory) => rmSync(join(directory, "training", "moments"))],
    ["a missing list of files", (directory) => rmSync(join(directory, "training", "checkpoint.json"))],
    ["a garbled list of files", (directory) => writeFileSync(join(directory, "training", "checkpoint.json"), "{")],
  ];

  test.each(damages)("%s is found, with the folder and the way out", async (_, damage) => {
    const checkpoints = new Checkpoints(run);
    await checkpoints.save(textEngine("older"), 2);
    await checkpoints.save(textEngine("good"), 4);
    damage(checkpoints.directory(4));
    const engine = textEngine("untouched");
    const loading = checkpoints.load(engine, 4);
    await expect(loading).rejects.toMatchObject({ code: "checkpoint-damaged" });
    await expect(loading).rejects.toThrow(
      /step-000004.*Remove the folder to resume from the previous one, .*step-000002/s,
    );
    expect(engine.text).toBe("untouched");
    // the way out works
    rmSync(checkpoints.directory(4), { recursive: true });
    await checkpoints.load(engine, checkpoints.steps().at(-1)!);
    expect(engine.text).toBe("older");
  });

  test("that is the only one says so", async () => {
    const checkpoints = new Checkpoints(run);
    await checkpoints.save(textEngine("good"), 4);
    rmSync(join(checkpoints.directory(4), "weights"));
    await expect(checkpoints.load(textEngine(""), 4)).rejects.toThrow(/no older one/);
    expect(existsSync(checkpoints.directory(4))).toBe(true);
  });
});
