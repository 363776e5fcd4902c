import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createRng } from "../../random.ts";
import { fakeTrajectory } from "../../schema/fake-trajectory.ts";
import { permissionCounts } from "../../schema/permission-counts.ts";
import { decodeTrajectory, encodeTrajectory } from "../../schema/trajectory-binary.ts";
import { trajectoryFromJson, trajectoryToJson } from "../../schema/trajectory-json.ts";
import { type Tool, tool } from "../../tool/index.ts";
import type { PermissionOptions } from "../../tool/permission/permissions.ts";
import { call, forever, make, play, type State } from "../fixtures/scripted-episode.ts";
import { withPermissions } from "./with-permissions.ts";

const refund = tool({
  input: z.object({ order: z.string().trim(), amount: z.coerce.number().default(5) }),
  run({ order, amount }, { state }: { state: State }) {
    state.log.push(`${order} ${amount}`);
    return `refunded ${amount}`;
  },
});
const lookUp = tool({ input: z.object({ order: z.string() }), run: ({ order }) => `card 4111 of ${order}` });
const tools: Record<string, Tool<State>> = { refund, look_up: lookUp };
const desk = make({ tools, score: ({ state }) => ({ refunds: state.log.length }) });

async function calls(options: PermissionOptions<State>, ...texts: readonly string[]) {
  const { turns, stop, failure, scores } = await play(withPermissions(desk, options), texts);
  return { records: turns.flatMap((turn) => turn.calls), turns, stop, failure, refunds: scores.agent.parts.refunds };
}

const pay = (order: string, amount?: unknown) => call("refund", { order, ...(amount === undefined ? {} : { amount }) });

describe("rules", () => {
  const rules = [
    { tool: "refund", decide: "ask" },
    {
      tool: "refund",
      where: { amount: (amount: unknown) => Number(amount) > 100 },
      decide: "deny",
      reason: "Too much.",
    },
  ] as const;

  test("the strictest that matches counts, and the policy reads what was decided", async () => {
    const person = [{ tool: "refund", where: { order: /^A/ }, answer: "allow", say: "Go on." }] as const;
    const { records, refunds, turns } = await calls({ rules, person }, pay("A1", 7), pay("B1", 7), pay("A1", 101));
    expect(records.map(({ outcome, observation }) => [outcome, observation])).toEqual([
      ["ok", "[Permission was asked for and given: Go on.]\nrefunded 7"],
      ["denied", 'Error: "refund" needs permission, which was asked for and refused.'],
      ["denied", 'Error: "refund" was denied: Too much.'],
    ]);
    expect(records.map(({ permission }) => permission)).toEqual([
      { allowed: true, by: "person", asked: true, reason: "Go on." },
      { allowed: false, by: "person", asked: true },
      { allowed: false, by: "rule", asked: false, reason: "Too much." },
    ]);
    expect(refunds).toBe(1);
    expect(permissionCounts(turns)).toEqual({ calls: 3, asks: 2, denials: 2, violations: 1 });
  });

  test("what the schema trims, converts or fills in does not get past a rule", async () => {
    const forbidden = { rules: [{ tool: "refund", where: { order: "A1" }, decide: "deny" }] } as const;
    expect((await calls(forbidden, pay(" A1 "))).records).toMatchObject([{ outcome: "denied" }]);
    const filledIn = { rules: [{ tool: "refund", where: { amount: 5 }, decide: "deny" }] } as const;
    expect((await calls(filledIn, pay("A1"), pay("A1", "5"))).records).toMatchObject([
      { outcome: "denied" },
      { outcome: "denied" },
    ]);
    const allowed = {
      rules: [{ tool: "refund", where: { amount: "5" }, decide: "allow" }],
      otherwise: "deny",
    } as const;
    expect((await calls(allowed, pay("A1", "5"))).records).toMatchObject([{ outcome: "denied" }]);
  });

  test("expressions with the flag g match every time, and see what is no text as JSON", async () => {
    const global = { rules: [{ tool: "*", where: { order: /A/g }, decide: "deny" }] } as const;
    expect((await calls(global, pay("A"), pay("A"))).records.map(({ outcome }) => outcome)).toEqual([
      "denied",
      "denied",
    ]);
    const number = { rules: [{ tool: ["refund"], where: { amount: /^7$/ }, decide: "deny" }] } as const;
    expect((await calls(number, pay("A", 7), pay("A", 8))).records.map(({ outcome }) => outcome)).toEqual([
      "denied",
      "ok",
    ]);
  });

  test("with `otherwise` only what is allowed is", async () => {
    const options = { rules: [{ tool: "look_up", decide: "allow" }], otherwise: "deny" } as const;
    const { records, turns } = await calls(options, call("look_up", { order: "1" }), pay("A"));
    expect(records).toMatchObject([
      { outcome: "ok", observation: "card 4111 of 1", permission: { by: "rule" } },
      { outcome: "denied", permission: { by: "default" } },
    ]);
    expect(permissionCounts(turns)).toMatchObject({ denials: 1, violations: 0 });
  });

  test("calls that are wrong anyway are told as such, and nobody is asked", async () => {
    const person = () => Promise.reject(new Error("was asked"));
    const { records } = await calls({ otherwise: "ask", person }, call("refund", {}), call("pay"), "<tool_call>{");
    expect(records.map(({ outcome }) => outcome)).toEqual(["bad-arguments", "unknown-tool", "malformed"]);
    expect(records.some(({ permission }) => permission !== undefined)).toBe(false);
  });

  test("misspelt names are errors that name the nearest", () => {
    const refused = (options: object) => () => withPermissions(desk, options as PermissionOptions<State>);
    expect(refused({ rules: [{ tool: "refnd", decide: "deny" }] })).toThrow('Did you mean "refund"?');
    expect(refused({ rules: [{ tool: "refund", where: { amuont: 1 }, decide: "deny" }] })).toThrow(
      /where\.amuont.*"amount"/,
    );
    expect(refused({ rules: [{ tool: "refund", decide: "denny" }] })).toThrow('Did you mean "deny"?');
    expect(refused({ rules: [{ tool: "refund", decides: "deny" }] })).toThrow('unknown option "decides"');
    expect(refused({ rules: [{ tool: [], decide: "deny" }] })).toThrow("the name of a tool");
    expect(refused({ rules: [{ tool: "refund", where: { amount: null }, decide: "deny" }] })).toThrow("a RegExp");
    expect(refused({ person: [{ tool: "refnd", answer: "allow" }] })).toThrow('person[0].tool "refnd"');
    expect(refused({ person: [{ tool: "refund", answer: "ask" }] })).toThrow("person[0].answer");
    expect(refused({ otherwise: "maybe" })).toThrow("otherwise");
    expect(refused({ rule: [] })).toThrow('unknown option "rule"; did you mean "rules"?');
  });

  test("what cannot have an effect or an answer is refused", () => {
    expect(() => withPermissions(desk, {})).toThrow("option-without-effect");
    expect(() => withPermissions(desk, { rules: [{ tool: "*", decide: "allow" }] })).toThrow("option-without-effect");
    expect(() => withPermissions(desk, { otherwise: "ask" })).toThrow('"ask" without a person');
    expect(() => withPermissions(make(), { otherwise: "deny" })).toThrow("which has no tools");
  });
});

describe("hooks before a call", () => {
  test("rewrite its arguments, which rules, tool, policy and record then see", async () => {
    const before = [({ arguments: args }: { arguments: object }) => ({ arguments: { ...args, amount: 1 } })];
    const rules = [{ tool: "refund", where: { amount: 99 }, decide: "deny" }] as const;
    const { records, refunds } = await calls({ before, rules }, pay("A1", 99));
    expect(records).toEqual([
      {
        name: "refund",
        arguments: { order: "A1", amount: 99 },
        outcome: "ok",
        observation: '[Called with {"order":"A1","amount":1} instead.]\nrefunded 1',
        permission: { allowed: true, by: "default", asked: false, rewritten: { order: "A1", amount: 1 } },
      },
    ]);
    expect(refunds).toBe(1);
  });

  test("cannot allow what a rule denies", async () => {
    const rules = [{ tool: "refund", decide: "deny" }] as const;
    const { records } = await calls({ before: [() => ({ decide: "allow" })], rules }, pay("A"));
    expect(records).toMatchObject([{ outcome: "denied", permission: { by: "rule" } }]);
  });

  const faults: Readonly<Record<string, [() => unknown, string]>> = {
    "that throw": [
      () => {
        throw new Error("no database");
      },
      "hook before[0] failed, which denies: no database",
    ],
    "that reject": [() => Promise.reject(new Error("gone")), "hook before[0] failed, which denies: gone"],
    "that never answer": [forever, "the decision about it took longer than 20 ms, which denies"],
    "that decide what is no decision": [() => ({ decide: "no" }), "hook before[0] failed, which denies: "],
    "that return no decision": [() => "deny", "hook before[0] failed: it returned no decision"],
    "with a misspelt field": [() => ({ decision: "deny" }), 'unknown option "decision"'],
    "that write wrong arguments": [() => ({ arguments: { order: 1 } }), "into wrong ones: "],
    "that write what JSON cannot say": [() => ({ arguments: { order: "A", amount: 1n } }), "hook before[0] failed"],
    "that ask where nobody is": [() => ({ decide: "ask" }), "nobody is there to ask"],
  };
  for (const [which, [hook, said]] of Object.entries(faults)) {
    test(`${which} deny, and say so`, async () => {
      const { records, refunds, turns } = await calls({ before: [hook as () => undefined] }, pay("A"));
      expect(records).toMatchObject([{ outcome: "denied", permission: { allowed: false, by: "fault" } }]);
      expect(records[0].observation).toContain(said);
      expect(refunds).toBe(0);
      expect(permissionCounts(turns)).toMatchObject({ denials: 1, violations: 0 });
    });
  }

  test("a rule's function or a person that throws denies as well", async () => {
    const bad = () => {
      throw new Error("oops");
    };
    const rule = await calls(
      { rules: [{ tool: "refund", where: { amount: bad }, decide: "allow" }], otherwise: "deny" },
      pay("A"),
    );
    expect(rule.records[0].observation).toContain("rules[0] failed, which denies: oops");
    const person = await calls({ otherwise: "ask", person: bad }, pay("A"));
    expect(person.records[0]).toMatchObject({ outcome: "denied", permission: { by: "fault", asked: true } });
    const vague = await calls({ otherwise: "ask", person: () => ({ answer: "yes" }) as never }, pay("A"));
    expect(vague.records[0].observation).toContain("the person who was asked failed");
  });

  test("a rollout that is cancelled while a hook decides is cancelled, not denied", async () => {
    const controller = new AbortController();
    const before = [
      () => {
        controller.abort(new Error("stop"));
        return forever();
      },
    ];
    expect(await play(withPermissions(desk, { before }), [pay("A")], controller.signal)).toMatchObject({
      stop: "cancelled",
    });
  });
});

describe("hooks after a call", () => {
  test("change what the policy reads", async () => {
    const after = [({ observation }: { observation: string }) => observation.replace(/\d{4}/, "****"), () => undefined];
    const { records } = await calls({ after }, call("look_up", { order: "1" }));
    expect(records).toMatchObject([{ outcome: "ok", observation: "card **** of 1" }]);
  });

  test("that throw withhold the result, and say so", async () => {
    const after = [
      () => {
        throw new Error("scanner is down");
      },
    ];
    const { records } = await calls({ after }, call("look_up", { order: "1" }));
    expect(records).toMatchObject([{ outcome: "denied", permission: { allowed: false, by: "fault" } }]);
    expect(records[0].observation).toMatch(/was called, but what it returned is withheld: .*scanner is down/);
    expect(records[0].observation).not.toContain("4111");
  });
});

test("permissions over permissions: the outer ones decide first, and all have to allow", async () => {
  const inner = withPermissions(desk, { otherwise: "ask", person: [{ tool: "*", answer: "allow" }] });
  const outer = withPermissions(inner, { rules: [{ tool: "refund", decide: "deny" }] });
  const { turns } = await play(outer, [pay("A"), call("look_up", { order: "1" })]);
  expect(turns.flatMap((turn) => turn.calls.map(({ permission }) => permission))).toMatchObject([
    { allowed: false, by: "rule", asked: false },
    { allowed: true, by: "person", asked: true },
  ]);
});

test("tools that run elsewhere are not started when they are denied", async () => {
  let runs = 0;
  const isolated = {
    level: "thread",
    close: async () => {},
    run: async () => {
      runs++;
      return { kind: "returned", value: "ran", output: "" } as const;
    },
  } as const;
  const env = make({ tools: { code: { ...lookUp, isolated } } });
  const guarded = withPermissions(env, { rules: [{ tool: "code", where: { order: "bad" }, decide: "deny" }] });
  const { turns } = await play(guarded, [call("code", { order: "bad" }), call("code", { order: "good" })]);
  expect(turns.map(({ calls }) => calls[0].outcome)).toEqual(["denied", "ok"]);
  expect(runs).toBe(1);
});

test("a trajectory keeps what was decided, as JSON and as bytes", async () => {
  const before = [() => ({ arguments: { order: "B" }, decide: "ask" as const, reason: "why" })];
  const { records } = await calls({ before, person: [{ tool: "*", answer: "deny", say: "No." }] }, pay("A"));
  const plain = fakeTrajectory(createRng(3));
  const trajectory = { ...plain, turns: plain.turns.map((turn) => ({ ...turn, calls: records })) };
  expect(records[0].permission).toEqual({
    allowed: false,
    by: "person",
    asked: true,
    reason: "No.",
    rewritten: { order: "B" },
  });
  expect(trajectory.turns.length).toBeGreaterThan(0);
  expect(decodeTrajectory(encodeTrajectory(trajectory)).turns).toEqual(trajectory.turns);
  expect(trajectoryFromJson(JSON.parse(JSON.stringify(trajectoryToJson(trajectory)))).turns).toEqual(trajectory.turns);
});
