import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
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
  const { trajectories } = await store.trajectories({}, { order: "oldest" });
  const stored = await Promise.all(trajectories.map(async ({ key }) => (await store.trajectory(key)).trajectory));
  await store.close();
  expect(read).toEqual(stored);
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
  const conversation = conversationFromChat(JSON.parse((await exported(run, "--format", "chat"))[0]!));
  const said = turns.flatMap((turn: { text: string; observation: string }, index: number) => [
    { role: "assistant", content: turn.text },
    ...(index === turns.length - 1 ? [] : [{ role: "user", content: turn.observation }]),
  ]);
  expect(conversation.messages).toEqual([{ role: "user", content: expect.stringMatching(/^[ab]$/) }, ...said]);
  const shareGpt = JSON.parse((await exported(run, "--format", "sharegpt"))[0]!);
  expect(conversationFromShareGpt(shareGpt)).toEqual(conversation);
  // the environment says the same as the tokens
  const [fromFile] = await exported(run, "--format", "chat", "--file", tinyConfigFile);
  expect(conversationFromChat(JSON.parse(fromFile!))).toEqual(conversation);
});

test("a run without a tokenizer needs the file that made it", async () => {
  const refused = await runCommand(["export", fakeRun, "--format", "chat"]);
  expect(refused).toMatchObject({ status: 1, stderr: expect.stringMatching(/^prompt-unreadable: .*--file/) });
  const rows = await exported(fakeRun, "--format", "chat", "--file", fakeConfigFile);
  expect(JSON.parse(rows[0]!).messages).toMatchObject([{ role: "user" }, { role: "assistant" }]);
});

test("metrics are a table of steps", async () => {
  const [heads, ...rows] = await exported(run, "--format", "csv-metrics");
  const names = heads!.split(",");
  expect(rows.map((row) => row.split(",")[0])).toEqual(Array.from({ length: 10 }, (_, step) => String(step)));
  expect(rows.every((row) => row.split(",").length === names.length)).toBe(true);
  const store = await openRun(run, { readOnly: true });
  const [point] = await store.series("rollout/reward", { from: 9 });
  await store.close();
  expect(Number(rows.at(-1)!.split(",")[names.indexOf("rollout/reward")])).toBe(point!.value);
  expect(rows[0]!.split(",")[names.indexOf("rollout/reward")]).toBe("");
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

test.each([
  [["RUN", "--format", "chatt"], /Did you mean "chat"\?/],
  [["RUN", "--where", "sucess=true"], /^bad-where: .*Did you mean "success"\?/],
  [["RUN", "--format", "csv-metrics", "--where", "success=true"], /^bad-where: .*--where step=10..20/],
  [[], /^bad-usage: got nothing, expected one run folder/],
])("export %j is refused", async (args, message) => {
  const result = await runCommand(["export", ...args.map((arg) => (arg === "RUN" ? run : arg))]);
  expect(result).toMatchObject({ status: 2, stdout: "" });
  expect(result.stderr).toMatch(message);
});
