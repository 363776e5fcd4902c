import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { fakeModel } from "../eval/benchmarks/testing/fake-model.ts";
import { publishedFiles } from "../eval/benchmarks/testing/published-files.ts";
import { mcpProtocols } from "../tool/mcp-server.ts";
import { mcpTools } from "../tool/mcp-tools.ts";
import { commandsBySubject } from "./testing/commands-by-subject.ts";
import { runCommand } from "./testing/run-command.ts";
import { makeModelFolder, startServe } from "./testing/start-serve.ts";
import { tinyConfigFile, trainedRun } from "./testing/trained-run.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-subjects-"));
afterAll(() => rmSync(folder, { recursive: true }));
const fixture = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url));

/** The words of a command of the page, with files and addresses of this test for those that a reader has. */
const wordsOf = (command: string, own: Readonly<Record<string, string>> = {}) =>
  command
    .split(" ")
    .slice(1)
    .map((word) => own[word] ?? word);

const commandWith = (word: string) => commandsBySubject.find(({ command }) => command.includes(` ${word} `))!.command;

async function plays(command: string) {
  const { status, stdout } = await runCommand(wordsOf(command));
  expect(status).toBe(0);
  expect(stdout).toMatch(/agent: score 1, success/);
}

/** Until it has printed its address and `use` is done; then Ctrl-C. */
async function serves(command: string, use: (url: string) => Promise<void>) {
  let used: Promise<void> | undefined;
  const { status } = await runCommand(wordsOf(command), {
    onOutput: (text, interrupt) => {
      used = use(text.trim()).finally(() => interrupt("SIGINT"));
    },
  });
  await used;
  expect(status).toBe(130);
}

const here: Readonly<Record<string, (command: string) => Promise<void>>> = {
  "ludus play project-rules --expert": plays,
  "ludus play office-skills --expert": plays,
  "ludus play guarded-desk --expert": plays,
  "ludus play data-analyst --expert": plays,
  "ludus play reacher --expert": plays,
  "ludus env serve sokoban": (command) =>
    serves(command, async (url) => {
      for (const protocol of mcpProtocols) {
        const { tools, close } = await mcpTools({ url }, { protocol });
        expect(Object.keys(tools)).toContain("start_episode");
        await close();
      }
    }),
  "ludus env serve sokoban --openenv": (command) =>
    serves(command, async (url) => {
      expect(await (await fetch(`${url}/metadata`)).json()).toMatchObject({ name: "sokoban" });
    }),
  "ludus env check ./agent.ts": async (command) => {
    const words = wordsOf(command, { "./agent.ts": fixture("command-agent-env.ts") });
    const { status, stdout } = await runCommand([...words, "--tasks", "1"]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/keeps its promises/) });
  },
  "ludus serve runs/first --record": async (command) => {
    const words = wordsOf(command, { "runs/first": await makeModelFolder() }).slice(1);
    const { client, notes, stop } = await startServe([...words, "--key", "k"]);
    const headers = { authorization: "Bearer k", "x-ludus-rollout": "r1" };
    const messages = [{ role: "user" as const, content: "Hi" }];
    const model = (await client.models.list({ headers })).data[0]!.id;
    await client.chat.completions.create({ model, messages, max_tokens: 2 }, { headers });
    const rollouts = client.baseURL.replace(/\/v1$/, "/rollouts/r1");
    await fetch(`${rollouts}/reward`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: '{"reward":1}',
    });
    expect(await (await fetch(rollouts, { headers })).text()).toContain('"logprobs');
    expect(await stop(), notes.join("")).toBe(130);
  },
  "ludus export runs/first --format gguf --out agent.gguf": async (command) => {
    const run = await trainedRun(tinyConfigFile, join(folder, "run"));
    const out = join(folder, "agent.gguf");
    const { status } = await runCommand(wordsOf(command, { "runs/first": run, "agent.gguf": out }));
    expect([status, readFileSync(out).subarray(0, 4).toString()]).toEqual([0, "GGUF"]);
  },
  [commandWith("tau-bench")]: async (command) => {
    process.env.LUDUS_ENVIRONMENTS ??= "python3";
    await using server = await fakeModel(({ tools }) =>
      tools === undefined ? { content: "###STOP###" } : { content: "Good day." },
    );
    const own = {
      "data/tau-bench": fileURLToPath(new URL("../eval/benchmarks/testing/tau-bench", import.meta.url)),
      "http://127.0.0.1:8000/v1": server.url,
    };
    const { status, stdout, stderr } = await runCommand([
      ...wordsOf(command, own),
      ...["--results", join(folder, "tau.jsonl"), "--tasks", "2"],
    ]);
    expect([status, stderr]).toEqual([0, expect.stringMatching(/^fake plays the user too/)]);
    expect(stdout).toMatch(/success \(95 %\)/);
  },
  [commandWith("gsm8k")]: async (command) => {
    await using server = await fakeModel(() => ({ content: "#### 1003" }));
    const training = join(folder, "train.jsonl");
    writeFileSync(training, '{"text":"Ann has 3 apples and buys 1,000 more. How many?"}\n');
    const own = {
      "data/gsm8k": publishedFiles("gsm8k"),
      "http://127.0.0.1:8000/v1": server.url,
      "train.jsonl": training,
    };
    const words = [...wordsOf(command, own), "--results", join(folder, "gsm8k.jsonl"), "--quiet"];
    const { status, stdout } = await runCommand(words);
    expect(status).toBe(0);
    for (const figure of [/success \(95 %\) +0\.50/, /pass@4/, /pass\^4/, /\$/, /copied words +50\.0 %/])
      expect(stdout).toMatch(figure);
  },
};

const elsewhere: Readonly<Record<string, string>> = {
  "ludus env list --from reasoning-gym": "test/other-environments.slow.test.ts",
  "node production.ts": "test/production-guide.test.ts",
  ...Object.fromEntries(
    ["agents-md", "skill-disclosure", "skill-library", "instruction-hierarchy", "openvla", "vpt", "webgum"].map(
      (name) => [`ludus recipe run ${name}`, "test/small-recipes.slow.test.ts"],
    ),
  ),
};

test("every command of the page has its test", () => {
  const tested = [...Object.keys(here), ...Object.keys(elsewhere)];
  expect(tested.sort()).toEqual(commandsBySubject.map(({ command }) => command).sort());
});

test.each(Object.entries(elsewhere))("%s is run by a test that needs more", (command, file) => {
  const path = fileURLToPath(new URL(`../../${file}`, import.meta.url));
  expect(existsSync(path)).toBe(true);
  // by name: a recipe, a library or a program
  expect(readFileSync(path, "utf8")).toContain(command.split(" ").at(-1)!);
});

describe("the commands of the page do what it says", () => {
  test.each(Object.entries(here))("%s", { timeout: 60_000 }, (command, run) => run(command));
});
