import { appendFileSync, mkdtempSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { LudusError } from "../../errors.ts";
import type { BenchmarkTask } from "./benchmark.ts";
import { chatModel, onlyModel } from "./chat-model.ts";
import { openResults } from "./results-file.ts";
import { runBenchmark } from "./run-benchmark.ts";
import { fakeModel } from "./testing/fake-model.ts";

const signal = new AbortController().signal;
const tasks: readonly BenchmarkTask[] = ["a", "b", "c", "d"].map((id) => ({
  id,
  text: `the question ${id}`,
  category: id < "c" ? "easy" : "hard",
  async attempt(chat) {
    const { text } = await chat({ messages: [{ role: "user", content: id }] });
    return { success: text === "right", metrics: { f1: text === "right" ? 1 : 0.5 } };
  },
}));
const modelAt = (endpoint: string, retries = 0) =>
  chatModel({ endpoint, model: "fake", retries, sleep: async () => {} });
const header = { benchmark: "letters", model: "fake", temperature: 0, seed: 1 };
const newFile = () => join(mkdtempSync(join(tmpdir(), "ludus-results-")), "deep", "results.jsonl");

test("success, pass@k, pass^k, metrics, categories and tokens of all attempts", async () => {
  const seen = new Map<string, number>();
  await using server = await fakeModel(({ messages: [{ content }] }) => {
    const times = (seen.get(content) ?? 0) + 1;
    seen.set(content, times);
    // a each time, b every other time, c and d never
    return { content: content === "a" || (content === "b" && times % 2 === 1) ? "right" : "wrong" };
  });
  const report = await runBenchmark(tasks, modelAt(server.url), { attempts: 2 });
  expect(report).toMatchObject({
    ...{ tasks: 4, attempts: 2, made: 8, failed: 0, promptTokens: 80, completionTokens: 40 },
    success: { mean: 3 / 8 },
    passAtK: { 1: { mean: 3 / 8 }, 2: { mean: 2 / 4 } },
    passHatK: { 1: { mean: 3 / 8 }, 2: { mean: 1 / 4 } },
    metrics: { f1: { mean: 0.6875 } },
    categories: { easy: { tasks: 2, success: { mean: 0.75 } }, hard: { tasks: 2, success: { mean: 0 } } },
    successByTask: { a: 1, b: 0.5, c: 0, d: 0 },
  });
  expect(report.success.low).toBeGreaterThan(0);
  expect(report.success.high).toBeLessThan(1);
});

test("what fails after others were answered is in no figure, and is made again", async () => {
  let isDown = true;
  await using server = await fakeModel(({ messages: [{ content }] }) =>
    isDown && content === "d" ? 500 : { content: "right" },
  );
  const path = newFile();
  const run = async () => {
    const results = await openResults(path, header);
    return runBenchmark(tasks, modelAt(server.url), { concurrency: 1, results });
  };
  const first = await run();
  expect(first).toMatchObject({ made: 3, failed: 1, success: { mean: 1 } });
  expect(first.failures).toEqual([expect.stringMatching(/^model-failed: .*status 500/)]);
  isDown = false;
  expect(await run()).toMatchObject({ made: 4, failed: 0 });
  // the first four, and the one that had failed
  expect(server.asked).toHaveLength(5);
});

test.each([
  ["a server that is down", () => "http://127.0.0.1:9/v1", /^model-failed: .*127\.0\.0\.1:9/],
  ["nonsense", (url: string) => url, /^model-failed: .*no chat completion: "<html>"/],
])("%s measures nothing", async (_, address, message) => {
  await using server = await fakeModel(() => "<html>");
  await expect(runBenchmark(tasks, modelAt(address(server.url), 2))).rejects.toThrow(message);
});

test("an error of the benchmark's own is no infrastructure failure", async () => {
  await using server = await fakeModel(() => ({ content: "right" }));
  const broken: BenchmarkTask = {
    id: "broken",
    text: "",
    attempt: async () => {
      throw new TypeError("a bug");
    },
  };
  await expect(runBenchmark([...tasks, broken], modelAt(server.url), { concurrency: 1 })).rejects.toThrow("a bug");
});

test("aborted, it keeps what was done, and the next goes on from there", async () => {
  const stop = new AbortController();
  await using server = await fakeModel((_, index) => {
    if (index === 2) stop.abort();
    return { content: "right" };
  });
  const path = newFile();
  const results = await openResults(path, header);
  const stopped = await runBenchmark(tasks, modelAt(server.url), { concurrency: 1, results, signal: stop.signal });
  expect(stopped.made).toBeLessThan(4);
  expect(stopped.made).toBeGreaterThanOrEqual(2);
  // as a program that was killed while it wrote
  appendFileSync(path, '{"task":"d","attem');
  const again = await openResults(path, header);
  expect(again.earlier).toHaveLength(stopped.made);
  expect(await runBenchmark(tasks, modelAt(server.url), { results: again })).toMatchObject({ made: 4 });
  expect(readFileSync(path, "utf8").trim().split("\n")).toHaveLength(5);
  expect((await openResults(path, header)).earlier).toHaveLength(4);
});

test("results of something else are not gone on from", async () => {
  const path = newFile();
  await openResults(path, header);
  await expect(openResults(path, { ...header, temperature: 1 })).rejects.toThrow(/^other-results: .*--results/);
  appendFileSync(path, "{}\n");
  await expect(openResults(path, header)).rejects.toThrow(/^other-results: got .*line 2/);
});

test("the only model of a server, or the names of all", async () => {
  await using server = await fakeModel(() => "");
  expect(await onlyModel(server.url, undefined, signal)).toBe("fake");
  await expect(onlyModel("http://127.0.0.1:9/v1", undefined, signal)).rejects.toThrow(/^model-failed: .*9\/v1\/models/);
});

test("a misspelt option, and counts that are none", async () => {
  // @ts-expect-error misspelt
  await expect(runBenchmark(tasks, modelAt(""), { attemps: 2 })).rejects.toThrow(/did you mean "attempts"/);
  await expect(runBenchmark([], modelAt(""))).rejects.toThrow(/^bad-eval: got 0 tasks/);
  await expect(runBenchmark(tasks, modelAt(""), { attempts: 0 })).rejects.toThrow(/^bad-eval/);
});

test("two tasks of one id, and counts that are none, are refused before anything is asked", async () => {
  const model = modelAt("http://127.0.0.1:9/v1");
  await expect(runBenchmark([...tasks, tasks[0]], model)).rejects.toThrow('bad-eval: got two tasks "a"');
  for (const count of [-1, 0, 1.5, Number.NaN]) {
    await expect(runBenchmark(tasks, model, { tasks: count })).rejects.toThrow("bad-eval");
  }
});

test("a figure that only some tasks have is the mean over them", async () => {
  await using server = await fakeModel(() => ({ content: "right" }));
  const some = tasks.map((task, i) => ({
    ...task,
    attempt: async (...given: Parameters<BenchmarkTask["attempt"]>) => {
      const { success } = await task.attempt(...given);
      return { success, metrics: i === 0 ? { calls: 0.8 } : ({} as Record<string, number>) };
    },
  }));
  expect((await runBenchmark(some, modelAt(server.url))).metrics.calls.mean).toBe(0.8);
});

test("a server that answers without end is given up, and an address with a password is not repeated", async () => {
  const endless = createServer((_request, response) => {
    const part = Buffer.alloc(2 ** 20, "x");
    const send = () => {
      while (!response.destroyed && response.write(part));
    };
    response.on("drain", send);
    send();
  });
  await new Promise<void>((done) => endless.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}/v1`;
  const request = { messages: [{ role: "user" as const, content: "?" }] };
  await expect(modelAt(url).ask(request, 1, signal)).rejects.toThrow(/model-failed: .*more than \d+ bytes/);
  await expect(onlyModel(url, undefined, signal)).rejects.toThrow(/model-failed: .*more than \d+ bytes/);
  endless.closeAllConnections();
  await new Promise((done) => endless.close(done));
  const secret = "http://me:very-secret-word@127.0.0.1:9/v1";
  for (const asked of [modelAt(secret).ask(request, 1, signal), onlyModel(secret, undefined, signal)]) {
    const error = await asked.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "model-failed" });
    expect(String(error)).not.toContain("very-secret-word");
  }
});

test("an exception in the benchmark's own Python at the first task does not end the measurement, at every task it does", async () => {
  await using server = await fakeModel(() => ({ content: "right" }));
  const broken = (task: BenchmarkTask): BenchmarkTask => ({
    ...task,
    attempt: async () => {
      throw new LudusError("python-exception", { got: `KeyError: ${task.id}`, expected: "an answer" });
    },
  });
  const [first, ...rest] = tasks;
  const report = await runBenchmark([broken(first), ...rest], modelAt(server.url), { concurrency: 1 });
  expect(report).toMatchObject({ made: 3, failed: 1, success: { mean: 1 } });
  await expect(runBenchmark(tasks.map(broken), modelAt(server.url), { concurrency: 1 })).rejects.toThrow(/KeyError/);
});
