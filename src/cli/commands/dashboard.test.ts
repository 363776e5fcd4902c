import { EventEmitter } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { shippedEnvs } from "../../env/environments/index.ts";
import { envInFolder, playable } from "../playable-envs.ts";
import { dashboard } from "./dashboard.ts";

const silent = { write: () => true };

test("prints an address that works with its token, until it is interrupted", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ludus-runs-"));
  const signals = new EventEmitter();
  const { promise: printed, resolve } = Promise.withResolvers<string>();
  const ended = dashboard.run([folder], {
    stdout: { write: resolve },
    stderr: silent,
    on: signals.on.bind(signals),
    off: signals.off.bind(signals),
  });
  const url = new URL((await printed).trim());
  expect(url.hostname).toBe("127.0.0.1");
  const headers = { authorization: `Bearer ${url.searchParams.get("token")}` };
  expect(await (await fetch(new URL("/api/runs", url), { headers })).json()).toEqual({ runs: [], total: 0 });
  const known = await (await fetch(new URL("/api/environments", url), { headers })).json();
  expect(known).toMatchObject({ environments: expect.arrayContaining([expect.objectContaining({ name: "bandit" })]) });
  signals.emit("SIGINT");
  expect(await ended).toBe(130);
  await expect(fetch(url)).rejects.toThrow();
  await rm(folder, { recursive: true });
});

test("environments of files are played beside the shipped ones, and before them", async () => {
  const own = await playable(["src/cli/fixtures/guess-env.ts", "./src/cli/fixtures/guess-config.ts"]);
  const names = Object.keys(own);
  expect(names.length).toBeGreaterThan(Object.keys(shippedEnvs).length);
  expect(own[names[0]].make().name).toBe(names[0]);
  expect(names).toContain("bandit");
  await expect(playable(["nowhere.ts"])).rejects.toMatchObject({ code: "no-env-file" });
});

test("a file that a stored run names is loaded from this folder only", async () => {
  const inside = resolve("src/cli/fixtures/guess-config.ts");
  expect((await envInFolder(inside)).tasks.splits).toContain("train");
  await expect(envInFolder("/etc/evil.ts")).rejects.toThrow(/env-elsewhere: .*ludus dashboard --env/);
  await expect(envInFolder(resolve("../evil.ts"))).rejects.toThrow("env-elsewhere");
});

test("what it cannot do is said before it listens", async () => {
  const terminal = { stdout: silent, stderr: silent };
  await expect(dashboard.run(["--port", "99999"], terminal)).rejects.toMatchObject({ code: "bad-option" });
  await expect(dashboard.run(["a", "b"], terminal)).rejects.toMatchObject({ code: "bad-usage" });
  await expect(dashboard.run(["/nowhere/at/all"], terminal)).rejects.toMatchObject({ code: "no-runs" });
});
