import { PassThrough, Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { noBubblewrap } from "../../tool/sandbox/testing/bubblewrap-here.ts";
import type { Terminal } from "../command.ts";
import { runCli } from "../run-cli.ts";
import { builtinCommands } from "./index.ts";

const guess = fileURLToPath(new URL("../fixtures/guess-env.ts", import.meta.url));

/** As with `printf lines | ludus play args`. */
async function run(args: readonly string[], lines: readonly string[] = [], stdin?: Terminal["stdin"]) {
  const written = { stdout: "", stderr: "" };
  const keep = (stream: keyof typeof written) =>
    new Writable({
      write(chunk, _, done) {
        written[stream] += chunk;
        done();
      },
    });
  const input = stdin ?? Readable.from(lines.map((line) => `${line}\n`));
  const terminal = { stdout: keep("stdout"), stderr: keep("stderr"), stdin: input };
  const status = await runCli(["play", ...args], builtinCommands, terminal);
  return { status, ...written };
}

describe.skipIf(noBubblewrap !== undefined)("a person in a repository", () => {
  const begin = ["test", "view mine"];

  test("finds a bug by its tests, mends the line and is paid", async () => {
    const lines = [...begin, "edit mine 4 return p + 3", "test", "done"];
    const { status, stdout } = await run(["repositories", "--task", "1"], lines);
    expect(stdout).toContain("bank.py dock.py mine.py tests.py");
    expect(stdout).toContain("fee(0, 3) == 3 but it is 0\nfee(4, 2) == 9 but it is 10\n3 of 5 passed");
    expect(stdout).toContain("4         return p * 3");
    expect(stdout).toContain("5 of 5 passed");
    expect(stdout).toContain("[completed after 5 turns]\nagent: score 1, success");
    expect(status).toBe(0);
  });

  test("is told of mistakes, goes on after them, and is not paid for another line", async () => {
    const lines = [...begin, "view yard", "edit mine 99 pass", "edit ../mine 4 pass", "edit mine 5 return q", "done"];
    const { status, stdout } = await run(["repositories", "--task", "1"], lines);
    expect(stdout.match(/: error\]/g)).toHaveLength(3);
    expect(stdout).toContain("[completed after 7 turns]\nagent: score 0, no success");
    expect(status).toBe(0);
  });
});

test("without a page in a browser there is nothing to watch", async () => {
  const { status, stderr } = await run(["key-door", "--watch"], ["T"]);
  expect(stderr).toContain("no page in a browser");
  expect(status).toBe(2);
});

describe("a person", () => {
  test("reads what a model would read, and sees rewards, parts and the end", async () => {
    const { status, stdout } = await run(["key-door", "--task", "0"], ["T", "R"]);
    expect(stdout).toMatchInlineSnapshot(`
      "[key-door, task key-door-8/train/0, seed 654882323]
      [Say something. ? lists what may be said, ! asks the expert, !! lets it speak, =words says them as an answer.]
      [user]
      KD....G
      > T
      [turn 1 of 16: reward 0]
      [user]
      AD....G+
      > R
      [turn 2 of 16: reward 0]
      [user]
      AD....G+
      [cancelled after 2 turns]
      agent: score 0, no success
      "
    `);
    expect(status).toBe(0);
  });

  test("plays to the end, with rewards", async () => {
    const { stdout } = await run([guess, "--seed", "1"], ["50", "!", "!!", "!!", "!!", "!!", "!!", "!!", "!!", "!!"]);
    expect(stdout).toMatch(/^\[guess, task generated\/train\/0, seed 1\]\n/);
    expect(stdout).toContain("[turn 1 of 8: reward -0.01]\n[user]\n");
    expect(stdout).toMatch(
      /\[after the end\]\nyes\n\[completed after \d turns\]\nagent: score 0\.\d+, success\n {2}outcome 1\n {2}turns -0\.0\d\n$/,
    );
  });

  test("gets the system message and the exact tokens", async () => {
    const { stdout } = await run(["lock", "--style", "tags", "--tokens", "chat"], []);
    expect(stdout).toContain("[system]\nAlways write <think>your thoughts</think>");
    expect(stdout).toMatch(/\[\d+ tokens\]\n<\|im_start\|>system\nAlways write/);
    expect(stdout).toContain("<|im_start|>assistant\n");
    const compact = await run(["lock", "--tokens", "compact"], []);
    expect(compact.stdout).toContain("[user]\n4289\n[5 tokens]\n4289<|im_start|>\n");
  });

  test("asks what may be said, and is told where it is not listed", async () => {
    const { stdout } = await run(["search-qa"], ["?"]);
    expect(stdout).toMatch(/> \?\nsearch \w+ \w+\nsearch /);
    expect((await run([guess], ["?"])).stdout).toContain("> ?\n[The environment does not list them.]\n");
  });

  test("says an answer in the environment's format with =, and anything else word for word", async () => {
    const { stdout } = await run(["lock", "--style", "tags", "--json"], ["=1208"]);
    const turns = (text: string) => JSON.parse(text).turns.map((turn: { text: string }) => turn.text);
    expect(turns(stdout)).toEqual(["<think></think><answer>1208</answer>"]);
    expect(turns((await run(["lock", "--json"], ["first\\", " second \\", "third"])).stdout)).toEqual([
      "first\n second \nthird",
    ]);
    const refused = await run(["lock", "--style", "tags"], ["=</answer>"]);
    expect(refused.stdout).toMatch(/\[unwritable: got .*\]\n\[cancelled after 0 turns\]/);
  });

  test("sees tools and how calls fared", async () => {
    const { stdout } = await run(["search-qa"], ["search a", "serch b"]);
    expect(stdout).toMatch(/\[tools\]\nsearch\(query\) {2}Finds facts\n/);
    expect(stdout).toContain("[turn 1 of 4: reward 0, search: ok]\n[search]\n");
    expect(stdout).toContain("[turn 2 of 4: reward 0, a call: malformed]\n");
  });

  test("chooses the split, the task and the chance", async () => {
    const play = async (...args: string[]) => JSON.parse((await run(["key-door", "--json", ...args])).stdout).task;
    expect(await play("--split", "mirrored", "--task", "2", "--seed", "9")).toMatchObject({
      id: "key-door-8/mirrored/2",
      seed: 9,
    });
    expect(await run(["key-door", "--split", "tset"])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("one of train, test, mirrored"),
    });
  });
});

test("the expert plays, and the finished episode is one JSON value on stdout", async () => {
  const { status, stdout, stderr } = await run(["key-door", "--expert", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({
    env: "key-door",
    task: { id: "key-door-8/train/0", data: { corridor: expect.any(String) } },
    stop: "completed",
    scores: { agent: { total: 1, success: true } },
    turns: Array.from({ length: 8 }, () => ({ role: "agent", text: expect.stringMatching(/^[LRTO]$/) })),
  });
  expect(stdout.trimEnd()).not.toContain("\n");
  expect(stderr).toContain("\n> T\n");
  expect(status).toBe(0);
});

test.each([
  ["Ctrl-C", "\x03"],
  ["Ctrl-D", "\x04"],
])("%s at a terminal ends the episode and closes it", async (_, key) => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  stdin.write("50\r");
  const playing = run([guess], [], stdin);
  setTimeout(() => stdin.write(key), 50);
  const { status, stdout } = await playing;
  expect(stdout).toContain("[turn 1 of 8: reward");
  expect(stdout).toMatch(/\[cancelled after 1 turns\]\nagent: score 0, no success\n$/);
  expect(status).toBe(0);
});

test("a fault of the environment is told, and is the exit status", async () => {
  const crashing = fileURLToPath(new URL("../fixtures/crashing-env.ts", import.meta.url));
  const { status, stdout } = await run([crashing], ["x"]);
  expect(stdout).toMatch(/\[env-crash after 1 turns\] Error: out of ice/);
  expect(status).toBe(1);
});

test("escape codes in what is read and in failures are spelled out", async () => {
  const crashing = fileURLToPath(new URL("../fixtures/crashing-env.ts", import.meta.url));
  const { stdout } = await run([crashing], ["x"]);
  expect(stdout).toContain("?\\u001b[2J");
  expect(stdout).toContain("out of ice\\u001b]0;title\\u0007");
  expect(stdout).not.toContain("\u001b");
});
