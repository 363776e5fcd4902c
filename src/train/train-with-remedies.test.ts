import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RunEvent } from "../schema/run-event.ts";
import { sqliteRuns } from "../store/index.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { letters } from "./fixtures/letters.ts";
import { drGrpo, grpo } from "./presets/grpo.ts";
import { trainWithRemedies } from "./train-with-remedies.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-remedies-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const steps = 40;
const failsFrom = 25;
const remedies = { "zero-variance": drGrpo({ groupSize: 4 }) };

/** A policy that is right in half of its attempts until it has learned for so many steps, and never after. */
const failing = () => fakePolicy((version) => (version < failsFrom ? 0.5 : 0));

const config = (name: string, events: RunEvent[] = []) => ({
  ...{
    env: letters({ turns: 1, alphabet: "a" }),
    policy: failing(),
    algorithm: grpo({ groupSize: 4, uniformGroups: "keep" }),
    steps,
  },
  ...{ tasksPerStep: 4, eval: { tasks: 0 }, save: { every: 5, retain: 20 }, run: join(folder, name) },
  monitors: [{ name: "test", record: (event: RunEvent) => void events.push(event) }],
});

describe("a run in which the doctor finds what there is a remedy for", () => {
  test("goes back to a checkpoint from before and goes on with another algorithm, once", async () => {
    const events: RunEvent[] = [];
    const { switches, reason } = await trainWithRemedies(config("before", events), { remedies, stopAt: "error" });
    expect(switches).toHaveLength(1);
    const [{ finding, step, run, algorithm }] = switches;
    expect([finding.code, algorithm, run]).toEqual(["zero-variance", "dr-grpo", join(folder, "before-2")]);
    expect(finding.step).toBeGreaterThanOrEqual(failsFrom - 1);
    expect(step).toBeLessThanOrEqual(finding.step - 10);
    expect(step).toBeGreaterThan(finding.step - 20);
    // the second run fails again; its remedy is used up, so it goes to its end
    expect(reason).toBe("finished");
    const stepsOfSecond = events.slice(events.findLastIndex(({ type }) => type === "run-start"));
    expect(stepsOfSecond.filter(({ type }) => type === "step-end")).toHaveLength(steps - step - 1);
    const reader = await sqliteRuns().open(run);
    expect(await reader.config()).toMatchObject({ parent: { run: join(folder, "before"), step } });
    await reader.close();
  });

  test("or goes on from where it stands", async () => {
    const { switches } = await trainWithRemedies(config("here"), { remedies, stopAt: "error", from: "here" });
    expect(switches[0].step).toBeGreaterThan(switches[0].finding.step);
  });

  test("is a plain run where nothing is found", async () => {
    const well = { ...config("well"), policy: fakePolicy(0.5), steps: 8 };
    const { switches, reason, steps: done } = await trainWithRemedies(well, { remedies, stopAt: "error" });
    expect([switches, reason, done]).toEqual([[], "finished", 8]);
  });

  test("ends where it is stopped from outside, and is not switched", async () => {
    const stop = new AbortController();
    const monitors = [{ name: "stop", record: ({ type }: RunEvent) => void (type === "step-end" && stop.abort()) }];
    const stopped = { ...config("stopped"), monitors, signal: stop.signal };
    const { switches, reason } = await trainWithRemedies(stopped, { remedies });
    expect([switches, reason]).toEqual([[], "stopped"]);
  });
});

test.each([
  [{ remedies: {} }, /bad-config: got no remedies, expected an algorithm by the code of a finding/],
  [{ remedies, from: "there" }, /from of trainWithRemedies/],
  [{ remedies, stopsAt: "error" }, /stopsAt/],
  [{ remedies: { "zero-varience": grpo() } }, /remedies of trainWithRemedies: "zero-varience".*mean "zero-variance"/],
])("options %#: refused", async (options, message) => {
  await expect(trainWithRemedies(config("refused"), options as never)).rejects.toThrow(message);
});

test("a run that was switched is not begun again: what was done since is in another", async () => {
  const again = config("twice");
  await trainWithRemedies(again, { remedies, stopAt: "error" });
  await expect(trainWithRemedies({ ...again, policy: failing() }, { remedies, stopAt: "error" })).rejects.toThrow(
    /run-was-switched: got .*twice, which .*twice-2 goes on from, expected .*Go on with .*twice-2/,
  );
});

test("a run without a folder is refused: there would be nothing to go back to", async () => {
  const { run: _, ...rest } = config("none");
  await expect(trainWithRemedies(rest as never, { remedies })).rejects.toThrow(/bad-config: got no run/);
});
