import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { InferenceSession } from "onnxruntime-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { embedded } from "../../engine/embedded/embedded.ts";
import { readGguf } from "../../engine/model/gguf/testing/read-gguf.ts";
import { readTfRecords } from "../../monitor/tensorboard/tf-record.ts";
import { collect, conversationFromChat, conversationFromShareGpt, readTrajectoryJsonl } from "../../schema/index.ts";
import { openRun } from "../../store/index.ts";
import { runCommand } from "../testing/run-command.ts";
import { fakeConfigFile, tinyConfigFile, trainedRun } from "../testing/trained-run.ts";

let folder: string;
let run: string;
let fakeRun: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ludus-export-"));
  run = await trainedRun(tinyConfigFile, join(folder, "run"));
  fakeRun = await trainedRun(fakeConfigFile, join(folder, "fake"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const exported = async (...args: string[]) => (await runCommand(["export", ...args])).stdout.trimEnd().split("\n");

test("trajectories come out as they went in", async () => {
  const { status, stdout, stderr } = await runCommand(["export", run]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "32 episodes\n" });
  const read = await collect(readTrajectoryJsonl(stdout.split("\n")));
  const store = await openRun(run, { readOnly: true });
  const { trajectories } = await store.trajectories({ split: "train" }, { order: "oldest" });
  const stored = await Promise.all(trajectories.map(async ({ key }) => (await store.trajectory(key)).trajectory));
  await store.close();
  expect(read).toEqual(stored);
});

test("held-out episodes are exported where they are asked for, failed ones first", async () => {
  const { stderr } = await runCommand(["export", run, "--where", "split=held-out", "--quiet"]);
  expect(stderr).toBe("");
  const episodes = (await exported(run, "--where", "split=held-out")).map((line) => JSON.parse(line));
  // before and after
  expect(episodes).toHaveLength(16);
  expect(episodes.every(({ rollout }) => /^step-\d+\/eval-test\//.test(rollout))).toBe(true);
  const before = episodes.slice(0, 8).map(({ score }) => score.success);
  expect(before).toEqual(before.toSorted());
  const failed = await exported(run, "--where", "split=held-out", "--where", "success=false");
  expect(failed.filter((line) => line !== "")).toHaveLength(episodes.filter(({ score }) => !score.success).length);
});

test("--where chooses episodes", async () => {
  const all = (await exported(run)).map((line) => JSON.parse(line));
  const solved = await exported(run, "--where", "success=true", "--where", "step=9");
  const expected = all.filter(({ score, rollout }) => score.success && rollout.startsWith("9/"));
  expect(solved.filter((line) => line !== "").map((line) => JSON.parse(line).id)).toEqual(expected.map(({ id }) => id));
});

test("chat and ShareGPT rows tell the episode as the policy had it", async () => {
  const [episode] = (await exported(run)).map((line) => JSON.parse(line));
  const { turns } = episode;
  const conversation = conversationFromChat(JSON.parse((await exported(run, "--format", "chat"))[0]));
  const said = turns.flatMap((turn: { text: string; observation: string }, index: number) => [
    { role: "assistant", content: turn.text },
    ...(index === turns.length - 1 ? [] : [{ role: "user", content: turn.observation }]),
  ]);
  expect(conversation.messages).toEqual([{ role: "user", content: expect.stringMatching(/^[ab]$/) }, ...said]);
  const shareGpt = JSON.parse((await exported(run, "--format", "sharegpt"))[0]);
  expect(conversationFromShareGpt(shareGpt)).toEqual(conversation);
  // the environment says the same as the tokens
  const [fromFile] = await exported(run, "--format", "chat", "--file", tinyConfigFile);
  expect(conversationFromChat(JSON.parse(fromFile))).toEqual(conversation);
});

test("a run without a tokenizer needs the file that made it", async () => {
  const refused = await runCommand(["export", fakeRun, "--format", "chat"]);
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringMatching(/^prompt-unreadable: .*--file/) });
  const rows = await exported(fakeRun, "--format", "chat", "--file", fakeConfigFile);
  expect(JSON.parse(rows[0]).messages).toMatchObject([{ role: "user" }, { role: "assistant" }]);
});

test("metrics are a table of steps", async () => {
  const [heads, ...rows] = await exported(run, "--format", "csv-metrics");
  const names = heads.split(",");
  expect(rows.map((row) => row.split(",")[0])).toEqual(Array.from({ length: 10 }, (_, step) => String(step)));
  expect(rows.every((row) => row.split(",").length === names.length)).toBe(true);
  const store = await openRun(run, { readOnly: true });
  const [point] = await store.series("rollout/reward", { from: 9 });
  await store.close();
  expect(Number(rows.at(-1)!.split(",")[names.indexOf("rollout/reward")])).toBe(point.value);
  expect(rows[0].split(",")[names.indexOf("rollout/reward")]).toBe("");
  expect(await exported(run, "--format", "csv-metrics", "--where", "step=4..5")).toHaveLength(3);
});

test("--out writes a file whole or not at all, and replaces none unasked", async () => {
  const out = join(folder, "out.jsonl");
  const { stdout, stderr } = await runCommand(["export", run, "--out", out]);
  expect({ stdout, stderr }).toEqual({ stdout: "", stderr: `32 episodes in ${out}\n` });
  expect(readFileSync(out, "utf8").trimEnd().split("\n")).toHaveLength(32);
  writeFileSync(out, "mine");
  expect(await runCommand(["export", run, "--out", out])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining("--force"),
  });
  const failed = await runCommand(["export", fakeRun, "--format", "chat", "--out", out, "--force"]);
  expect(failed.status).toBe(1);
  expect(readFileSync(out, "utf8")).toBe("mine");
  expect(existsSync(`${out}.partial`)).toBe(false);
  expect((await runCommand(["export", run, "--out", out, "--force", "--quiet"])).stderr).toBe("");
  expect(readFileSync(out, "utf8")).not.toBe("mine");
});

describe("Parquet", () => {
  const read = async (from: string, name: string, ...args: string[]) => {
    const out = join(folder, name);
    const { status, stderr } = await runCommand(["export", from, "--out", out, ...args]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: expect.stringMatching(/^\d+ episodes in /) });
    return parquetReadObjects({ file: await asyncBufferFromFile(out) });
  };

  test("has all of each episode in columns", async () => {
    const rows = await read(fakeRun, "all.parquet");
    const store = await openRun(fakeRun, { readOnly: true });
    const { trajectories } = await store.trajectories({ split: "train" }, { order: "oldest" });
    expect(rows).toHaveLength(trajectories.length);
    for (const [i, { key }] of trajectories.entries()) {
      const { summary, trajectory, task, advantages_T } = await store.trajectory(key);
      const { id, tokens_T, mask_T, logprobs_T, versions_T, score, turns, stop } = trajectory;
      expect(rows[i]).toMatchObject({
        id,
        stop,
        step: summary.step,
        task_id: task.id,
        success: score.success,
        reward: score.total,
        tokens: [...tokens_T],
        mask: [...mask_T],
        logprobs: [...logprobs_T],
        versions: [...versions_T],
        turns: turns.map(({ span, text, observation, reward }) => ({ ...span, text, observation, reward })),
      });
      expect(JSON.parse(rows[i].task)).toEqual(task.data);
      expect(JSON.parse(rows[i].reward_parts)).toEqual(score.parts);
      expect(rows[i].advantages ?? undefined).toEqual(advantages_T && [...advantages_T]);
    }
    await store.close();
    expect(rows.some(({ advantages }) => advantages?.length > 0)).toBe(true);
  });

  test("has conversations as lists of messages, the same as the lines", async () => {
    const lines = (await exported(run, "--format", "chat")).map((line) => JSON.parse(line));
    const rows = await read(run, "chat.parquet", "--format", "chat");
    expect(rows.map(({ messages }) => conversationFromChat({ messages }))).toEqual(lines.map(conversationFromChat));
    const shared = (await exported(run, "--format", "sharegpt")).map((line) => JSON.parse(line));
    const others = await read(run, "sharegpt.parquet", "--format", "sharegpt");
    expect(others.map(({ conversations }) => conversations)).toEqual(shared.map(({ conversations }) => conversations));
  });

  test("of nothing is a file without rows", async () => {
    expect(await read(run, "none.parquet", "--where", "reward=99..")).toEqual([]);
  });
});

test("metrics are in an event file by step", async () => {
  const out = join(folder, "board");
  expect((await runCommand(["export", run, "--format", "tensorboard", "--out", out])).stderr).toBe(
    `10 steps in ${out}\n`,
  );
  const [name] = readdirSync(out);
  expect(name).toMatch(/^events\.out\.tfevents\./);
  const bytes = readFileSync(join(out, name));
  expect(readTfRecords(bytes)).toHaveLength(11);
  expect(bytes.includes("rollout/reward")).toBe(true);
});

test("a model is a folder that others read", async () => {
  const out = join(folder, "model");
  const { stderr } = await runCommand(["export", run, "--format", "huggingface", "--out", out]);
  expect(stderr).toBe(`The model of step 9 in ${out}\n`);
  expect(readdirSync(out)).toEqual(
    expect.arrayContaining(["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]),
  );
  expect(readdirSync(out).filter((name) => /ludus|checkpoint|moments/.test(name))).toEqual([]);
  const engine = await embedded({ folder: out, threads: 1 });
  await engine.close();

  const onnx = join(folder, "onnx");
  expect((await runCommand(["export", run, "--format", "onnx", "--out", onnx, "--checkpoint", "best"])).status).toBe(0);
  expect(readdirSync(onnx)).toEqual(expect.arrayContaining(["config.json", "onnx", "tokenizer.json"]));
  const session = await InferenceSession.create(join(onnx, "onnx/model.onnx"));
  expect(session.outputNames).toContain("logits");
  await session.release();
});

test("a model is one file for llama.cpp, which replaces another with --force alone", async () => {
  const out = join(folder, "agent.gguf");
  const { stderr } = await runCommand(["export", run, "--format", "gguf", "--out", out, "--type", "f16"]);
  expect(stderr).toBe(`The model of step 9 in ${out}\n`);
  const { metadata } = readGguf(out);
  expect(metadata["general.name"]).toBe(basename(run));
  expect(metadata["tokenizer.chat_template"]).toContain('"renderer":"compact"');
  const again = await runCommand(["export", run, "--format", "gguf", "--out", out]);
  expect(again).toMatchObject({ status: 2, stderr: expect.stringMatching(/^file-exists: .*--force/) });
  const before = statSync(out).size;
  expect((await runCommand(["export", run, "--format", "gguf", "--out", out, "--force"])).status).toBe(0);
  expect(statSync(out).size).toBeGreaterThan(before);
  const nowhere = await runCommand(["export", run, "--format", "gguf", "--out", join(folder, "none", "a.gguf")]);
  expect(nowhere.status).not.toBe(0);
  expect(nowhere.stderr).toMatch(/checkpoint-not-written/);
});

test("a folder that has something in it is left alone", async () => {
  const out = join(folder, "mine");
  mkdirSync(out);
  writeFileSync(join(out, "letter"), "dear");
  const { status, stderr } = await runCommand(["export", run, "--format", "onnx", "--out", out, "--force"]);
  expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining("a new or an empty folder") });
  expect(readdirSync(out)).toEqual(["letter"]);
  const none = await runCommand(["export", fakeRun, "--format", "onnx", "--out", join(folder, "fake-model")]);
  expect(none.status).not.toBe(0);
  expect(existsSync(join(folder, "fake-model.partial"))).toBe(false);
});

test.each([
  [["RUN", "--format", "chatt"], /Did you mean "chat"\?/],
  [["RUN", "--where", "sucess=true"], /^bad-where: .*Did you mean "success"\?/],
  [["RUN", "--format", "csv-metrics", "--where", "success=true"], /^bad-where: .*--where step=10..20/],
  [["RUN", "--format", "onnx"], /^no-out: .*--out onnx/],
  [["RUN", "--format", "gguf"], /^no-out: .*--out agent\.gguf/],
  [["RUN", "--format", "onnx", "--type", "f16", "--out", "nowhere"], /^bad-option: got --type with --format onnx/],
  [["RUN", "--format", "huggingface", "--checkpoint", "4711", "--out", "nowhere"], /^no-such-checkpoint: /],
  [["RUN", "--format", "tensorboard", "--where", "tool=x", "--out", "nowhere"], /^bad-where: /],
  [[], /^bad-usage: got nothing, expected one run folder/],
])("export %j is refused", async (args, message) => {
  const result = await runCommand(["export", ...args.map((arg) => (arg === "RUN" ? run : arg))]);
  expect(result).toMatchObject({ status: 2, stdout: "" });
  expect(result.stderr).toMatch(message);
});
