import { describe, expect, test } from "vitest";
import { checkEnv } from "../env/check-env.ts";
import { defineEnv } from "../env/define-env.ts";
import { formats } from "../policy/index.ts";
import { generated } from "../task/generated.ts";
import type { AgentAttempt } from "./agent-attempt.ts";
import { type AgentDefinition, agentEnv } from "./agent-env.ts";
import { checkAgent } from "./check-agent.ts";

type Message = { role: string; content: string };

async function ask(url: string, messages: readonly Message[], model = "helper"): Promise<string> {
  const response = await fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model, messages }),
  });
  const body = (await response.json()) as { choices?: { message: { content: string | null } }[]; error?: Message };
  if (body.choices === undefined) throw new Error(`the model answered ${response.status}: ${JSON.stringify(body)}`);
  return body.choices[0].message.content ?? "";
}

const user = (content: string): Message => ({ role: "user", content });
const sound: AgentDefinition<string> = {
  name: "helper",
  description: "Repeat a word",
  tasks: generated((rng) => `w${rng.integer(1000)}`, { key: (word) => word }),
  format: formats.plain(),
  run: async (word, { url }) => ((await ask(url, [user(word)])) === word ? 1 : 0),
  expert: ({ task }) => task,
};
const made = (run: AgentDefinition<string>["run"], more: Partial<AgentDefinition<string>> = {}) =>
  agentEnv({ ...sound, run, ...more });
const found = async (world: ReturnType<typeof made>, timeoutMs = 5000) => {
  const { findings } = await checkAgent(world, { throw: false, timeoutMs });
  return findings.map(({ code, message }) => `${code}: ${message}`);
};

test("an agent that asks the model and returns a score keeps its promises", async () => {
  const report = await checkAgent(agentEnv(sound));
  expect(report).toMatchObject({ env: "helper", findings: [] });
  expect(report.episodes).toBeGreaterThan(20);
});

describe("what is wrong is said:", () => {
  test("the agent never asks a model", async () => {
    expect(await found(made(async () => 1))).toEqual([
      expect.stringMatching(/^agent-asks-no-model: task generated\/train\/0, answering yes: the agent ended without/),
    ]);
  });

  test("the agent asks for a model of another name, and is told the expected one", async () => {
    const strange = made(async (word, { url }) => ((await ask(url, [user(word)], "gpt-4o")) === word ? 1 : 0));
    expect((await found(strange))[0]).toMatch(/agent-unknown-model: .* the model "gpt-4o", which is called "helper"/);
    // also where the agent swallows the error
    const calm = made((word, { url }) => ask(url, [user(word)], "gpt-4o").then(Number, () => 0));
    expect((await found(calm))[0]).toMatch(/^agent-unknown-model/);
  });

  test("the agent throws", async () => {
    const [first] = await found(made(() => Promise.reject(new Error("database is down"))));
    expect(first).toMatch(/^agent-throws: task .*answering yes: Error: database is down \(at .*check-agent\.test\.ts/);
  });

  test("the agent throws only at what a policy may well say", async () => {
    const picky = made(async (word, { url }) => {
      const said = await ask(url, [user(word)]);
      if (said === "") throw new Error("an empty answer");
      return said === word ? 1 : 0;
    });
    expect(await found(picky)).toEqual([
      expect.stringMatching(/^agent-throws: .*saying nonsense: Error: an empty answer/),
    ]);
  });

  test("the agent reports no reward", async () => {
    const silent = made(async (word, { url }) => void (await ask(url, [user(word)])) as undefined);
    expect(await found(silent, 200)).toEqual([
      expect.stringMatching(/^agent-no-reward: .*`run` returned nothing, and no reward was posted within 200 ms/),
    ]);
  });

  test("the agent never ends", async () => {
    const stuck = made(() => new Promise(() => {}));
    expect((await found(stuck, 200))[0]).toMatch(/^agent-hangs: .* longer than 200 ms/);
  });

  test("the score is no number", async () => {
    const [first] = await found(made(async (word, { url }) => (await ask(url, [user(word)])).length / 0 - Infinity));
    expect(first).toMatch(/^agent-throws: .*NaN/);
  });

  test("the agent rewrites what was said before", async () => {
    const forgetful = made(async (word, { url }) => {
      const said = await ask(url, [user(word)]);
      const again = await ask(url, [
        user(`${word}!`),
        { role: "assistant", content: said.toUpperCase() },
        user("sure?"),
      ]);
      return again === word ? 1 : 0;
    });
    expect(await found(forgetful)).toEqual([
      expect.stringMatching(/^agent-rewrites-context: .* 2 of 2 calls do not go on from an earlier one/),
    ]);
  });

  test("the agent asks something else every time", async () => {
    let count = 0;
    const random = made(async (word, { url }) => ((await ask(url, [user(`${word} ${count++}`)])) === word ? 1 : 0));
    expect((await found(random))[0]).toMatch(/^agent-nondeterministic/);
  });

  test("attempts at the same time disturb each other", async () => {
    let current = "";
    const leaky = made(async (word, { url, id }: AgentAttempt) => {
      const isBusy = current !== "";
      current = id;
      const said = await ask(url, [user(isBusy ? `${word} (busy)` : word)]);
      current = "";
      return said === word ? 1 : 0;
    });
    expect(await found(leaky)).toEqual([expect.stringMatching(/^agent-state-leaks: .*asked the model something else/)]);
  });
});

test("an expert that never solves a task is told", async () => {
  expect(await found(made(sound.run, { expert: () => "?" }))).toEqual([
    "expert-never-succeeds: of 4 tasks the expert solved none",
  ]);
});

test("a broken promise is thrown unless the caller wants the report; unknown options are refused", async () => {
  const broken = made(() => Promise.reject(new Error("no")));
  await expect(checkAgent(broken)).rejects.toThrow(
    /agent-broken: got 1 broken promises of helper.*\nerror agent-throws/,
  );
  await expect(checkAgent(broken, { task: 1 } as never)).rejects.toThrow(/unknown option "task"; did you mean "tasks"/);
});

test("each check names the other where it is given the wrong kind", async () => {
  const env = defineEnv({ name: "e", tasks: generated(() => 1), start: () => ({ state: 0, say: "?" }) });
  await expect(checkAgent(env)).rejects.toThrow(/not-an-agent.*checkEnv/);
  await expect(checkEnv(agentEnv(sound) as never)).rejects.toThrow(/not-an-env.*checkAgent/);
});
