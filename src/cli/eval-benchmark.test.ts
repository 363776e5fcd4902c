import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { benchmarks } from "../eval/benchmarks/index.ts";
import { type FakeAnswer, type FakeBody, fakeModel } from "../eval/benchmarks/testing/fake-model.ts";
import { publishedFiles } from "../eval/benchmarks/testing/published-files.ts";
import { runCommand } from "./testing/run-command.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-benchmark-"));
let files = 0;
const newFile = () => join(folder, `results-${files++}.jsonl`);
const answers = (text: string) => (): FakeAnswer => ({ content: text });
const evaluate = (name: string, url: string, ...more: readonly string[]) => {
  const args = ["eval", "--benchmark", name, "--data", publishedFiles(name), "--model", url, "--retries", "0"];
  return runCommand([...args, ...(more.includes("--results") ? [] : ["--results", newFile()]), ...more]);
};

// the commands of docs/how-to/benchmarks.md
const solved: Readonly<Record<string, readonly [said: FakeAnswer, success: RegExp]>> = {
  gsm8k: [{ content: "#### 1003" }, /success \(95 %\) +0\.50/],
  math: [{ content: "\\boxed{\\frac{1}{2}}" }, /Algebra \(1\) +1\.00/],
  hotpotqa: [{ content: "Answer: Danube" }, /f1 +0\.50/],
  "2wiki": [{ content: "Answer: Donau" }, /em +0\.50/],
  musique: [{ content: "Answer: Black Sea" }, /2hop \(1\) +1\.00/],
  gaia: [{ content: "FINAL ANSWER: 12" }, /level 1 \(1\) +1\.00/],
  bfcl: [{ calls: [{ name: "weather_get", arguments: '{"city":"Vienna"}' }] }, /simple_python \(1\) +1\.00/],
};

test.each(Object.entries(solved))("%s is measured from the command line", async (name, [said, success]) => {
  await using server = await fakeModel(() => said);
  const { status, stdout, stderr } = await evaluate(name, server.url, "--quiet");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(success);
  expect(stdout).toMatch(/tokens said +\d/);
});

const hasPython = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).status === 0;
const checkout = fileURLToPath(new URL("../eval/benchmarks/testing/tau-bench", import.meta.url));
const turnOf = ({ messages }: FakeBody) => messages.filter(({ role }) => role === "assistant").length;

test("webshop is measured from the command line, with copies of its goals found in a training set", async () => {
  const said = ["search[shirt]", "click[b000000001]", "click[navy blue]", "click[large]", "click[buy now]"];
  await using server = await fakeModel((body) => ({ content: said[turnOf(body)] ?? "" }));
  const training = join(folder, "goals.txt");
  writeFileSync(training, "i want a machine washable shirt for men in navy, size large\n");
  const { status, stdout } = await evaluate("webshop", server.url, "--quiet", "--against", training);
  expect(status).toBe(0);
  expect(stdout).toMatch(/success \(95 %\) +1\.00/);
  expect(stdout).toMatch(/score +1\.00/);
  expect(stdout).toMatch(/copied words +[1-9]/);
});

test.skipIf(!hasPython)("tau-bench: a user, pass^k, cost, and results that go on with the same user only", async () => {
  process.env.LUDUS_ENVIRONMENTS = "python3";
  const agent: readonly FakeAnswer[] = [
    { calls: [{ name: "cancel_order", arguments: '{"order_id": "W1"}' }] },
    { content: "Done, 1200 is paid back." },
  ];
  await using server = await fakeModel((body) => agent[turnOf(body)] ?? { content: "Yes?" });
  await using customer = await fakeModel((body) => ({ content: turnOf(body) === 0 ? "Cancel W1." : "###STOP###" }));
  const results = newFile();
  const eachTime = [
    "eval",
    "--benchmark",
    "tau-bench",
    "--data",
    checkout,
    "--model",
    server.url,
    "--results",
    results,
  ];
  const more = ["--tasks", "1", "--attempts", "2", "--price", "1,1", "--category", "retail", "--json", "--quiet"];
  const first = await runCommand([...eachTime, "--user", customer.url, ...more]);
  expect(first.stderr).toBe("");
  expect(JSON.parse(first.stdout)).toMatchObject({
    ...{ success: { mean: 1 }, passHatK: { 2: { mean: 1 } }, made: 2, promptTokens: 40, userPromptTokens: 40 },
    dollars: 60 / 1e6,
  });
  const script = join(folder, "user.json");
  writeFileSync(script, '{"retail/0": []}');
  const other = await runCommand([...eachTime, "--user", script, ...more]);
  expect([other.status, other.stderr]).toEqual([1, expect.stringMatching(/^other-results: .*"user":"fake"/)]);
  const down = await runCommand([
    ...eachTime,
    "--user",
    "http://127.0.0.1:9/v1#x",
    "--retries",
    "0",
    "--results",
    newFile(),
  ]);
  expect([down.status, down.stderr]).toEqual([1, expect.stringMatching(/^model-failed: got from x at/)]);
  await using nonsense = await fakeModel(() => "<html>");
  const said = await runCommand([...eachTime, "--user", nonsense.url, "--retries", "0", "--results", newFile()]);
  expect([said.status, said.stderr]).toEqual([1, expect.stringMatching(/^model-failed: .*no chat completion/)]);
});

test.skipIf(!hasPython)("tau-bench without --user: the model plays both, which is said in one line", async () => {
  process.env.LUDUS_ENVIRONMENTS = "python3";
  const isUser = ({ tools }: FakeBody) => tools === undefined;
  await using server = await fakeModel((body) => {
    if (isUser(body)) return { content: turnOf(body) === 0 ? "Cancel W1." : "###STOP###" };
    if (turnOf(body) > 0) return { content: "Done, 1200 is paid back." };
    return { calls: [{ name: "cancel_order", arguments: '{"order_id": "W1"}' }] };
  });
  const results = newFile();
  const args = ["eval", "--benchmark", "tau-bench", "--data", checkout, "--model", server.url];
  const more = ["--results", results, "--tasks", "1", "--category", "retail"];
  const { status, stdout, stderr } = await runCommand([...args, ...more]);
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: expect.stringMatching(/^fake plays the user too; --user names another model, or a file/),
  });
  expect(stdout).toMatch(/success \(95 %\) +1\.00/);
  // as if it had been named, so results go on with either
  const named = await runCommand([...args, ...more, "--user", `${server.url}#fake`, "--quiet"]);
  expect(named).toMatchObject({ status: 0, stderr: "" });
  const other = await runCommand([...args, ...more, "--user", `${server.url}#other`]);
  expect([other.status, other.stderr]).toEqual([1, expect.stringMatching(/^other-results: .*"user":"fake"/)]);
});

test.skipIf(!hasPython)("bfcl-exec is measured from the command line", async () => {
  process.env.LUDUS_ENVIRONMENTS = "python3";
  await using server = await fakeModel(() => ({ calls: [{ name: "add", arguments: '{"a": 5, "b": 0}' }] }));
  const { status, stdout } = await evaluate("bfcl-exec", server.url, "--quiet");
  expect(status).toBe(0);
  expect(stdout).toMatch(/exec_simple \(1\) +1\.00/);
  expect(stdout).toMatch(/exec_parallel \(1\) +0\.00/);
});

test("help names every benchmark", async () => {
  const { stdout } = await runCommand(["eval", "--help"]);
  expect(/Benchmarks: ([^.]*)\./.exec(stdout)![1]!.replace(/\s+/g, " ")).toBe(Object.keys(benchmarks).join(", "));
});

test("attempts, cost and copies of training texts, as JSON", async () => {
  await using server = await fakeModel(answers("#### 1003"));
  const training = join(folder, "train.jsonl");
  writeFileSync(
    training,
    `plain\n{"messages":[{"content":"Ann has 3 apples and buys 1,000 more. How many?"}]}\n{broken\n`,
  );
  const more = [
    "--attempts",
    "2",
    "--price",
    "1,10",
    "--against",
    training,
    "--temperature",
    "0.7",
    "--json",
    "--quiet",
  ];
  const { stdout, status } = await evaluate("gsm8k", server.url, ...more);
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ benchmark: "gsm8k", model: "fake", made: 4, promptTokens: 40, completionTokens: 20 },
    dollars: (40 + 200) / 1e6,
    passAtK: { 2: { mean: 0.5 } },
    passHatK: { 2: { mean: 0.5 } },
    contamination: { mean: 0.5, dirty: 0.5, clean: 0.5, successOfClean: { mean: 0 } },
  });
  expect(server.asked[0]).toMatchObject({ model: "fake", temperature: 0.7 });
  const { stdout: table } = await evaluate(
    "gsm8k",
    `${server.url}#other`,
    "--against",
    training,
    "--price",
    "1,10",
    "--quiet",
  );
  expect(table).toMatch(/copied words +50\.0 %/);
  expect(table).toMatch(/cost +\$0\.0001/);
  expect(server.asked.at(-1)).toMatchObject({ model: "other" });
});

test("Ctrl-C keeps what is done, and the same command goes on", async () => {
  const results = newFile();
  await using server = await fakeModel(answers("#### 1003"));
  const more = ["--results", results, "--concurrency", "1"];
  const args = ["eval", "--benchmark", "gsm8k", "--data", publishedFiles("gsm8k"), "--model", server.url, ...more];
  const stopped = await runCommand(args, {
    isTTY: true,
    onProgress: (text, interrupt) => text.includes("1 of 2 attempts") && interrupt("SIGINT"),
  });
  expect(stopped).toMatchObject({
    status: 130,
    stdout: "",
    stderr: expect.stringContaining("the same command goes on"),
  });
  expect(readFileSync(results, "utf8").trim().split("\n")).toHaveLength(2);
  const again = await runCommand([...args, "--json", "--quiet"]);
  expect(JSON.parse(again.stdout)).toMatchObject({ made: 2, success: { mean: 0.5 } });
  expect(readFileSync(results, "utf8").trim().split("\n")).toHaveLength(3);
});

test.each([
  [["--benchmark", "gsm8"], 1, /^unknown-benchmark: .*Did you mean "gsm8k"/],
  [["--benchmark", "gsm8k"], 2, /^bad-usage: got no --data, expected the folder with test.jsonl/],
  [["--benchmark", "gsm8k", "--data", "DATA"], 2, /^bad-usage: got no --model/],
  [
    ["--benchmark", "gsm8k", "--data", "DATA", "--model", "gpt"],
    2,
    /^bad-usage: got --model gpt, expected the address/,
  ],
  [
    ["--benchmark", "gsm8k", "--data", "/no/such", "--model", "http://127.0.0.1:9/v1"],
    1,
    /^bad-benchmark-data: .*\/no\/such/,
  ],
  [["--benchmark", "gsm8k", "--data", "DATA", "--model", "http://127.0.0.1:9/v1"], 1, /^model-failed: .*models/],
  [
    ["--benchmark", "gsm8k", "--data", "DATA", "--model", "http://127.0.0.1:9/v1#x"],
    1,
    /^model-failed: .*chat completion/,
  ],
  [["--benchmark", "gsm8k", "--data", "DATA", "--model", "http://a", "--price", "1"], 2, /^bad-option: got --price 1/],
  [["--benchmark", "gsm8k", "--data", "DATA", "--model", "http://a", "--against", "/no"], 2, /^no-file: got --against/],
  [
    [
      "--benchmark",
      "tau-bench",
      "--data",
      "DATA",
      "--model",
      "http://127.0.0.1:9/v1#x",
      "--user",
      "http://127.0.0.1:9/v1",
    ],
    1,
    /^bad-benchmark-data: .*tau_bench/,
  ],
  [["--benchmark", "gsm8k", "--user", "http://a"], 2, /^bad-usage: got --user with gsm8k.*tau-bench/],
  [
    ["--benchmark", "gsm8k", "--data", "DATA", "--model", "http://a", "--category", "x"],
    2,
    /^bad-option: .*no categories/,
  ],
  [
    ["--benchmark", "tau-bench", "--data", "DATA", "--model", "http://a", "--user", "u"],
    1,
    /^bad-benchmark-data: .*tau_bench/,
  ],
  [["--benchmark", "gsm8k", "--split", "test"], 2, /^bad-usage: got --split with --benchmark/],
  [["--benchmark", "gsm8k", "train.ts"], 2, /^bad-usage: got train.ts, expected no file/],
  [["--data", "DATA"], 2, /^bad-usage: got --data without --benchmark/],
] as const)("eval %j is refused", async (args, status, message) => {
  const given = args.map((arg) => (arg === "DATA" ? publishedFiles("gsm8k") : arg));
  const result = await runCommand(
    ["eval", ...given, "--retries", "0", "--results", newFile()].filter((_, i) => args[0] !== "--data" || i < 3),
  );
  expect(result).toMatchObject({ status, stdout: "" });
  expect(result.stderr).toMatch(message);
});
