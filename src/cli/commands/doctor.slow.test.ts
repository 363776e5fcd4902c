import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { builtinDetectors } from "../../monitor/doctor/index.ts";
import { type Finding, liveDoctor, metric, storedView } from "../../monitor/index.ts";
import { fixtureOf } from "../../monitor/testing/fixture-view.ts";
import { openRun } from "../../store/index.ts";
import type { DoctorReport } from "../doctor-report.ts";
import { runCli } from "../run-cli.ts";
import { type FaultRun, faultRuns, soundRuns } from "../testing/fault-runs.ts";
import { builtinCommands } from "./index.ts";

// Trains with faults switched on, one run after the other, and asks the doctor. LUDUS_WRITE_FIXTURES=1 keeps the recorded series
// in fixtures/doctor/, where the fast tests of src/monitor/doctor/ find them.

const directory = mkdtempSync(join(tmpdir(), "ludus-doctor-"));
const fixtures = fileURLToPath(new URL("../../../fixtures/doctor/", import.meta.url));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const found = new Map<string, readonly Finding[]>();

async function trainAndAsk(run: FaultRun): Promise<DoctorReport & { status: number }> {
  const folder = join(directory, run.name);
  mkdirSync(folder);
  if (run.throws === undefined) await (await run.start(folder)).policy.engine.close();
  else await expect(run.start(folder)).rejects.toThrow(run.throws);
  run.damage?.(folder);
  const report = await ask(folder);
  found.set(run.name, report.findings);
  if (process.env.LUDUS_WRITE_FIXTURES) await writeFixture(run, folder);
  return report;
}

async function ask(folder: string): Promise<DoctorReport & { status: number }> {
  let text = "";
  const terminal = { stdout: { write: (more: string) => (text += more) }, stderr: process.stderr };
  const status = await runCli(["doctor", folder, "--json"], builtinCommands, terminal);
  return { status, ...JSON.parse(text) };
}

async function writeFixture({ name, fires, mayFire }: FaultRun, folder: string): Promise<void> {
  const reader = await openRun(folder, { readOnly: true });
  const fixture = fixtureOf(await storedView(reader), await reader.metricNames(), { name, fires, mayFire });
  await reader.close();
  mkdirSync(fixtures, { recursive: true });
  writeFileSync(join(fixtures, `${name}.json`), `${JSON.stringify(fixture)}\n`);
}

const codesOf = (findings: readonly Finding[]) => findings.map(({ code }) => code);
const troublesOf = (findings: readonly Finding[]) => codesOf(findings.filter(({ severity }) => severity !== "info"));

describe("sound runs", () => {
  test.each(soundRuns)("$name", async (run) => {
    const { findings, proofs, status } = await trainAndAsk(run);
    expect(troublesOf(findings).filter((code) => !run.mayFire.includes(code))).toEqual([]);
    expect(status).toBe(0);
    expect(proofs.filter(({ checked, findings: broken }) => checked === 0 || broken.length > 0)).toEqual([]);
  });
});

describe("runs with a fault", () => {
  test.each(faultRuns)("$name", async (run) => {
    const { findings, status } = await trainAndAsk(run);
    expect(codesOf(findings)).toEqual(expect.arrayContaining([...run.fires]));
    expect(troublesOf(findings).filter((code) => ![...run.fires, ...run.mayFire].includes(code))).toEqual([]);
    expect(status).toBe(findings.some(({ severity }) => severity === "error") ? 1 : 0);
    expect(findings.every(({ message, remedy }) => message.endsWith(".") && remedy.length > 20)).toBe(true);
  });
});

test("every code was said of a run and not of another", () => {
  const runs = [...found.values()].map(codesOf);
  const codes = [...builtinDetectors.map(({ code }) => code), "checkpoint-damaged", "logprob-invariant"];
  for (const code of codes) {
    expect(
      runs.some((codes) => codes.includes(code)),
      `${code} fires`,
    ).toBe(true);
    expect(
      runs.some((codes) => !codes.includes(code)),
      `${code} stays silent`,
    ).toBe(true);
  }
});

test("a deviation that counts failures is told from one that does not", async () => {
  const folder = join(directory, "crashing-tool");
  const store = await openRun(folder, { now: () => 0 });
  const view = await storedView(store);
  // what a trainer would record that takes a rollout that ended in an infrastructure failure for a failed one
  const [step, groups] = [...Map.groupBy(view.groups, (group) => group.step)].at(-1)!;
  const deviations = groups.map(({ trajectories }) => deviation(trajectories.map(({ score }) => score.total)));
  const recorded = deviations.reduce((a, b) => a + b, 0) / deviations.length;
  await store.append(step, { metrics: { [metric.rewardStd]: recorded } });
  await store.close();
  const { findings } = await ask(folder);
  const finding = findings.find(({ code }) => code === "statistics-invariant");
  expect(finding?.message).toContain("The recorded value includes infrastructure failures.");
});

test("live, the doctor ends a run that has gone into the echo trap", async () => {
  const run = faultRuns.find(({ name }) => name === "entropy-penalty")!;
  const doctor = liveDoctor({ stopOn: ["echo-trap"], stopAt: "warning", config: { algorithm: { groupSize: 8 } } });
  const folder = join(directory, "live");
  mkdirSync(folder);
  const result = await run.start(folder, { monitors: [doctor.monitor], signal: doctor.signal });
  await result.policy.engine.close();
  expect(["doctor", "stopped"]).toContain(result.reason);
  expect(codesOf(doctor.findings)).toContain("echo-trap");
  expect(result.steps).toBeLessThan(100);
});

function deviation(values: readonly number[]): number {
  const mean = values.reduce((a, b) => a + b, 0) / values.length;
  return Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1));
}
