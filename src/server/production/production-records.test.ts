import { afterEach, beforeEach, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { collect } from "../../schema/index.ts";
import { makeScore } from "../../schema/score.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { memoryRuns, type RunStore } from "../../store/index.ts";
import { storedGroups } from "../../train/index.ts";
import { createCapture } from "../capture.ts";
import { scriptedModel } from "../testing/scripted-model.ts";
import { type ProductionOptions, type ProductionSession, productionRecords } from "./production-records.ts";

const day = 86_400_000;
const tokenizer = byteTokenizer();
const salt = "a salt of enough characters";
const model = scriptedModel((read) => (read.includes("address") ? "You live in Elm Street 5." : "Hello."));
let capturing: ReturnType<typeof createCapture>;
let store: RunStore;
let time = 100 * day + 5;
const runs = memoryRuns();
let count = 0;

beforeEach(async () => {
  capturing = createCapture(model);
  time = 100 * day + 5;
  store = await runs.openForWriting(`production-${count++}`, { now: () => time });
});
afterEach(async () => {
  capturing.close();
  await store.close();
});

const records = (options: Partial<ProductionOptions> = {}) =>
  productionRecords({ store, tokenizer, rate: 1, salt, now: () => time, ...options });
const session = (id: string, fields: Partial<ProductionSession> = {}): ProductionSession => ({
  id,
  consent: true,
  ...fields,
});

async function episode(content: string): Promise<Trajectory[]> {
  const { rollout } = await capturing.capture(async () => {
    const body = JSON.stringify({ model: "tiny", temperature: 0, messages: [{ role: "user", content }] });
    const headers = { "content-type": "application/json" };
    await fetch("http://model.invalid/v1/chat/completions", { method: "POST", headers, body });
  });
  return rollout.trajectories({ taskId: "any", score: makeScore({}) });
}

const stored = async (split = "production") => {
  const { trajectories } = await store.trajectories({ split });
  return Promise.all(trajectories.map(async ({ key }) => store.trajectory(key)));
};
const shown = ({ tokens_T }: Trajectory) => tokenizer.decode(tokens_T);

test("an episode with consent is kept, by the day, and learned from only once it has feedback", async () => {
  const kept = await records();
  expect(await kept.keep(session("s1", { user: "ann" }), await episode("Hi"))).toBe("kept");
  const [{ trajectory, summary, task }] = await stored();
  expect(shown(trajectory)).toBe("HiHello.");
  expect(summary.step).toBe(100);
  expect(JSON.stringify(task)).not.toContain("ann");
  expect(await collect(storedGroups(store))).toEqual([]);

  time += day;
  await kept.feedback("s1", { reward: 1 });
  const groups = await collect(storedGroups(store));
  expect(groups.map(({ trajectories }) => trajectories.map(({ score }) => score.success))).toEqual([[true]]);
  expect(await stored()).toEqual([]);
  await kept.feedback("s1", { reward: 0 });
  expect((await stored("train")).map(({ trajectory: { score } }) => score.total)).toEqual([0]);
});

test("nothing is kept without consent, outside the sample or of those who opted out", async () => {
  const all = await records();
  expect(await all.keep(session("s1", { consent: false }), await episode("Hi"))).toBe("no-consent");
  expect(await all.keep({ id: "s1", consent: "yes" as never }, await episode("Hi"))).toBe("no-consent");
  const few = await records({ rate: 0.25 });
  const ids = Array.from({ length: 2000 }, (_, i) => `session-${i}`);
  const wanted = ids.filter((id) => few.wants(session(id)));
  expect(wanted.length).toBeGreaterThan(420);
  expect(wanted.length).toBeLessThan(580);
  expect(ids.filter((id) => few.wants(session(id)))).toEqual(wanted);
  const left = ids.find((id) => !wanted.includes(id))!;
  expect(await few.keep(session(left), await episode("Hi"))).toBe("not-sampled");
  expect(await few.keep(session(wanted[0]), await episode("Hi"))).toBe("kept");

  await all.keep(session("a1", { user: "ann" }), await episode("Hi"));
  await all.keep(session("a2", { user: "ann" }), await episode("Hi"), { reward: 1 });
  await all.keep(session("b1", { user: "bob" }), await episode("Hi"));
  expect(await all.optOut("ann")).toBe(2);
  expect(await all.keep(session("a3", { user: "ann" }), await episode("Hi"))).toBe("opted-out");
  // also what was being kept when the user opted out
  const being = all.keep(session("c1", { user: "cid" }), await episode("Hi"));
  const later = all.keep(session("c2", { user: "cid" }), await episode("Hi"));
  await all.optOut("cid");
  expect([await being, await later]).toContain("opted-out");
  // also after a restart
  expect((await records()).wants(session("a4", { user: "ann" }))).toBe(false);
  expect((await stored()).map(({ task }) => task.id).sort()).toEqual(["b1", wanted[0]].sort());
  expect(await stored("train")).toEqual([]);
});

test("what is redacted is gone from texts and tokens, and a turn that said it is not learned from", async () => {
  const redact = (text: string) => text.replaceAll(/Elm Street \d+/g, "[address]");
  const kept = await records({ redact });
  expect(await kept.keep(session("s1"), await episode("I am at Elm Street 5. Hi!"))).toBe("kept");
  const [{ trajectory }] = await stored();
  expect(shown(trajectory)).toBe("I am at [address]. Hi!Hello.");
  expect(trajectory.turns[0].annotations).toEqual({ redacted: true });
  const { start, end } = trajectory.turns[0].span;
  expect(tokenizer.decode(trajectory.tokens_T.subarray(start, end))).toBe("Hello.");
  expect([...trajectory.mask_T.subarray(start, end)].every((mask) => mask === 1)).toBe(true);
  // the only turn says it: nothing is left to learn from
  expect(await kept.keep(session("s2"), await episode("What is my address?"))).toBe("not-redacted");
  // keys are taken out in any case
  await (await records()).keep(session("s3"), await episode("use api_key=sk-abcdefghijklmnop1234"));
  const third = (await stored()).find(({ task }) => task.id === "s3")!;
  expect(shown(third.trajectory)).toContain("[redacted]");
  expect(shown(third.trajectory)).not.toContain("abcdefgh");
});

test("a redaction that fails keeps nothing, and the agent does not notice", async () => {
  const problems: string[] = [];
  const onProblem = (problem: Error) => {
    problems.push(problem.message);
    throw new Error("the listener fails too");
  };
  const throws = await records({
    onProblem,
    redact: () => {
      throw new Error("no service");
    },
  });
  expect(await throws.keep(session("s1"), await episode("Hi"))).toBe("not-redacted");
  const wrong = await records({ onProblem, redact: () => undefined as never });
  expect(await wrong.keep(session("s1"), await episode("Hi"))).toBe("not-redacted");
  expect(problems.map((text) => /no service|undefined from redact/.exec(text)?.[0])).toEqual([
    "no service",
    "undefined from redact",
  ]);
  expect(await stored()).toEqual([]);
});

test("a store that is full loses the episode, not the session", async () => {
  const problems: string[] = [];
  const full: RunStore = Object.create(store, {
    append: { value: () => Promise.reject(new Error("ENOSPC: no space left on device")) },
    state: { value: (key: string) => store.state(key) },
    trajectories: { value: (...args: Parameters<RunStore["trajectories"]>) => store.trajectories(...args) },
  });
  const kept = await records({ store: full, onProblem: ({ message }) => problems.push(message) });
  expect(await kept.keep(session("s1"), await episode("Hi"))).toBe("not-stored");
  expect(problems[0]).toMatch(/not-stored: got episode "s1": ENOSPC/);
});

test("feedback for an episode that is not there, or that is no number, is refused", async () => {
  const kept = await records();
  await expect(kept.feedback("never", { reward: 1 })).rejects.toThrow(/no-such-episode.*never.*opted out/s);
  await kept.keep(session("s1"), await episode("Hi"));
  await expect(kept.feedback("s1", { reward: Number.NaN })).rejects.toThrow(/bad-feedback/);
  expect(await stored()).toHaveLength(1);
});

test("episodes of earlier days are forgotten", async () => {
  const kept = await records();
  await kept.keep(session("old"), await episode("Hi"));
  time += 3 * day;
  await kept.keep(session("new"), await episode("Hi"));
  expect(await kept.forgetBefore(time - 2 * day)).toBe(1);
  expect((await stored()).map(({ task }) => task.id)).toEqual(["new"]);
});

test("a session that is kept twice is there once", async () => {
  const kept = await records();
  await kept.keep(session("s1"), await episode("Hi"));
  await kept.keep(session("s1"), await episode("Hi again"));
  expect((await stored()).map(({ trajectory }) => shown(trajectory))).toEqual(["Hi againHello."]);
});

test("options that make no sense are refused", async () => {
  await expect(records({ rate: 2 })).rejects.toThrow(/rate 2/);
  await expect(records({ salt: "short" })).rejects.toThrow(/at least 16/);
  await expect(records({ redakt: () => "" } as never)).rejects.toThrow(/did you mean "redact"/);
});
