import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { ChatRequest } from "./benchmark.ts";
import { chatModel } from "./chat-model.ts";
import { benchmarkOf } from "./index.ts";
import { runBenchmark } from "./run-benchmark.ts";
import { type FakeAnswer, type FakeBody, fakeModel } from "./testing/fake-model.ts";
import { modelUser, scriptedUser } from "./user-model.ts";

// stand-ins for the checkouts, with a domain of their own
const checkout = (name: string) => fileURLToPath(new URL(`testing/${name}`, import.meta.url));
const hasPython = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).status === 0;
process.env.LUDUS_ENVIRONMENTS = "python3";

const call = (name: string, args: object): FakeAnswer => ({ calls: [{ name, arguments: JSON.stringify(args) }] });
const at = (endpoint: string) => chatModel({ endpoint, model: "fake", retries: 0 });
const turnOf = ({ messages }: Pick<FakeBody, "messages">) => messages.filter(({ role }) => role === "assistant").length;

/** Another process: one has one checkout. */
function otherPython(): string {
  const path = join(mkdtempSync(join(tmpdir(), "ludus-python-")), "python");
  writeFileSync(path, '#!/bin/sh\nexec python3 "$@"\n', { mode: 0o755 });
  return path;
}

function script(lines: object): string {
  const path = join(mkdtempSync(join(tmpdir(), "ludus-user-")), "user.json");
  writeFileSync(path, JSON.stringify(lines));
  return path;
}

async function play(name: string, task: string, agent: readonly (FakeAnswer | string)[], user: object) {
  await using server = await fakeModel((body) => agent[turnOf(body)] ?? { content: "Anything else?" });
  const tasks = await benchmarkOf(name).load(checkout(name));
  const chosen = tasks.filter(({ id }) => id === task);
  const report = await runBenchmark(chosen, at(server.url), { user: await scriptedUser(script({ [task]: user })) });
  return { success: report.success.mean, asked: server.asked, report };
}

describe.skipIf(!hasPython)("τ-bench", () => {
  const ann = ["Please cancel W1.", "What do I get back?", "###STOP###"];
  const cancel = call("cancel_order", { order_id: "W1" });
  const deep = `{"order_id": ${"[".repeat(5_000)}${"]".repeat(5_000)}}`;
  const long = `{"order_id": ${"1".repeat(5_000)}}`;

  test("tasks of its test split", async () => {
    expect(await benchmarkOf("tau-bench").load(checkout("tau-bench"))).toMatchObject([
      { id: "retail/0", category: "retail", text: expect.stringContaining("Cancel order W1") },
      { id: "retail/1" },
    ]);
  });

  test.each([
    ["the right database and output", [cancel, { content: "Done." }, { content: "You get 1,200 back." }], 1],
    ["the output alone", [{ content: "You get 1200 back." }], 0],
    ["the database alone", [cancel, { content: "Done." }], 0],
    ["an unknown tool, then the rest", [call("refund", {}), cancel, { content: "1200" }], 1],
    ["arguments that are no JSON", [{ calls: [{ name: "cancel_order", arguments: "{" }] }], 0],
    ["arguments nested too deep", [{ calls: [{ name: "cancel_order", arguments: deep }] }], 0],
    ["a number that Python does not read", [{ calls: [{ name: "cancel_order", arguments: long }] }], 0],
    ["a call by the name of an answer, without one", [call("respond", {}), cancel, { content: "1200" }], 1],
    ["of two calls only the first", [{ calls: [...cancel.calls!, ...cancel.calls!] }, { content: "1200." }], 1],
  ] as const)("%s", async (_, agent, success) => {
    expect((await play("tau-bench", "retail/0", agent, ann)).success).toBe(success);
  });

  test("what the model is asked; a tool that ends the conversation", async () => {
    const transfer = call("transfer_to_human_agents", { order_id: "W2" });
    const { success, asked } = await play(
      "tau-bench",
      "retail/1",
      [call("get_order", { order_id: "W2" }), transfer],
      ["I am Ben."],
    );
    expect(success).toBe(1);
    expect(asked[1]!.messages).toMatchObject([
      { role: "system", content: "Cancel pending orders only." },
      { role: "user", content: "I am Ben." },
      { role: "assistant", tool_calls: [{ function: { name: "get_order" } }] },
      { role: "tool", content: '{"status": "delivered", "total": 30}' },
    ]);
    expect(asked[0]!.tools?.map((tool) => tool.function.name)).toContain("cancel_order");
  });

  test("a conversation without an end is none that succeeded", async () => {
    const { success, asked } = await play(
      "tau-bench",
      "retail/0",
      [],
      Array.from({ length: 40 }, () => "Hm."),
    );
    expect([success, asked.length]).toEqual([0, 30]);
  });

  test("a model as the user, whose tokens are counted apart; pass^k", async () => {
    const prompts: ChatRequest["messages"][] = [];
    await using user = await fakeModel((body) => {
      prompts.push(body.messages);
      return { content: ann[turnOf(body)] ?? "" };
    });
    const agent = [cancel, { content: "Done." }, { content: "1200" }];
    await using server = await fakeModel((body) => agent[turnOf(body)]!);
    const tasks = (await benchmarkOf("tau-bench").load(checkout("tau-bench"))).slice(0, 1);
    const report = await runBenchmark(tasks, at(server.url), {
      attempts: 2,
      concurrency: 1,
      user: modelUser({ endpoint: user.url, model: "fake", retries: 0 }),
    });
    expect(report).toMatchObject({ passHatK: { 2: { mean: 1 } }, promptTokens: 60, userPromptTokens: 60 });
    expect(prompts[1]).toMatchObject([
      { role: "system", content: expect.stringContaining("You are Ann") },
      { role: "user", content: "Hi! How can I help you today?" },
      { role: "assistant", content: "Please cancel W1." },
      { role: "user", content: "Done." },
    ]);
  });

  test("an exception of the benchmark's own Python costs its attempt", async () => {
    // the second task fails after the first was played
    const hurt = mkdtempSync(join(tmpdir(), "ludus-tau-"));
    cpSync(checkout("tau2-bench"), hurt, { recursive: true });
    const path = join(hurt, "data/tau2/domains/desk/tasks.json");
    const [task] = JSON.parse(readFileSync(path, "utf8"));
    const fails = (id: string) => {
      const actions = [{ name: "nothing", arguments: {}, requestor: "user" }];
      return { ...task, id, evaluation_criteria: { ...task.evaluation_criteria, actions } };
    };
    writeFileSync(path, JSON.stringify([task, fails("broken")]));
    process.env.LUDUS_ENVIRONMENTS = otherPython();
    try {
      const tasks = await benchmarkOf("tau2-bench").load(hurt);
      await using server = await fakeModel(() => ({ content: "7" }));
      const user = await scriptedUser(script({ "desk/restart": [], "desk/broken": [] }));
      const report = await runBenchmark(tasks, at(server.url), { user, concurrency: 1 });
      expect(report).toMatchObject({ made: 1, failed: 1 });
      expect(report.failures).toEqual([expect.stringMatching(/^python-exception: .*Tool 'nothing' not found/s)]);
    } finally {
      process.env.LUDUS_ENVIRONMENTS = "python3";
    }
  });

  test("no user, a user without the task, a folder that is none", async () => {
    await using server = await fakeModel(() => ({ content: "" }));
    const tasks = await benchmarkOf("tau-bench").load(checkout("tau-bench"));
    await expect(runBenchmark(tasks, at(server.url))).rejects.toThrow(/^no-user: .*plays the customer/);
    const user = await scriptedUser(script({ other: [] }));
    // one at a time: of two that are played at once, either may be refused first
    await expect(runBenchmark(tasks, at(server.url), { user, concurrency: 1 })).rejects.toThrow(
      /^bad-user-script: .*"retail\/0"/,
    );
    await expect(scriptedUser(script({ a: [4] }))).rejects.toThrow(/^bad-user-script/);
    await expect(scriptedUser("/no/such.json")).rejects.toThrow(/^bad-user-script: .*ENOENT/);
    const other = (name: string) => {
      const folder = mkdtempSync(join(tmpdir(), "ludus-tau-"));
      mkdirSync(join(folder, name));
      return folder;
    };
    await expect(benchmarkOf("tau-bench").load(other("tau_bench"))).rejects.toThrow(
      /^bad-benchmark-data: .*tau_bench\/envs/,
    );
    await expect(benchmarkOf("tau2-bench").load(other("src"))).rejects.toThrow(/^bad-benchmark-data: .*data\/tau2/);
  });
});

describe.skipIf(!hasPython)("τ²-bench", () => {
  const unlock = call("unlock_line", { number: 7 });
  const restart = { calls: [{ name: "restart_phone", arguments: {} }] };

  test("tasks that need no judge", async () => {
    const tasks = await benchmarkOf("tau2-bench").load(checkout("tau2-bench"));
    expect(tasks).toMatchObject([
      { id: "desk/restart", category: "desk", text: "Your line is down. Your number is 7." },
    ]);
  });

  test.each([
    ["both sides did their part", [unlock, { content: "7 is open: restart." }], ["Down!", restart, "###STOP###"], 1],
    ["the user restarted too early", [{ content: "Restart 7." }, unlock], ["Down!", restart, "No.", "###STOP###"], 0],
    ["the number was not said", [unlock, { content: "Restart." }], ["Down!", restart, "###STOP###"], 0],
  ] as const)("%s", async (_, agent, user, success) => {
    // the greeting is the agent's first message
    const greeted = [{ content: "" }, ...agent];
    expect((await play("tau2-bench", "desk/restart", greeted, user)).success).toBe(success);
  });

  test("ten errors end the conversation", async () => {
    const wrong = Array.from({ length: 30 }, () => call("unlock_line", { number: 1 }));
    const { success, asked } = await play("tau2-bench", "desk/restart", wrong, ["Down!"]);
    expect([success, asked.length]).toEqual([0, 10]);
  });
});
