import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serveDashboard } from "../server/dashboard-server.ts";
import { hasPostgres, type LocalPostgres, startPostgres } from "../store/testing/local-postgres.ts";
import { runCommand } from "./testing/run-command.ts";
import { fakeConfigFile, trainedRun } from "./testing/trained-run.ts";

// `trust` takes any password: what matters here is that it is shown nowhere
const password = "p4ssw0rd-of-mine";

describe.runIf(hasPostgres())("commands know runs on a server", () => {
  let server: LocalPostgres;
  let folder: string;
  let address: string;
  const before = process.env.LUDUS_CHECKPOINTS;
  const said: string[] = [];
  const ludus = async (...args: string[]) => {
    const result = await runCommand(args);
    said.push(result.stdout, result.stderr);
    return result;
  };
  beforeAll(async () => {
    server = await startPostgres();
    folder = mkdtempSync(join(tmpdir(), "ludus-postgres-cli-"));
    process.env.LUDUS_CHECKPOINTS = join(folder, "checkpoints");
    address = server.url({ password });
    for (const name of ["sweep/a", "sweep/b"]) {
      const { status, stderr } = await ludus(
        "train",
        fakeConfigFile,
        "--run",
        `${address}#${name}`,
        "--set",
        "steps=2",
      );
      expect(stderr.includes("LudusError") ? stderr : status).toBe(0);
    }
    await trainedRun(fakeConfigFile, join(folder, "local"), "--set", "steps=2");
  }, 60_000);
  afterAll(async () => {
    if (before === undefined) delete process.env.LUDUS_CHECKPOINTS;
    else process.env.LUDUS_CHECKPOINTS = before;
    rmSync(folder, { recursive: true, force: true });
    await server?.close();
  });

  test("runs lists them", async () => {
    const { status, stdout } = await ludus("runs", address);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^sweep\/b +letters +grpo +2\/2 .* finished$/m);
    expect(stdout).toMatch(/^sweep\/a /m);
  });

  test("compare takes one there and one in a folder", async () => {
    const { status, stdout } = await ludus("compare", `${address}#sweep/a`, join(folder, "local"));
    expect(status).toBe(0);
    expect(stdout).toContain(`${server.url()}#sweep/a`);
  });

  test("doctor, checkpoints, export and replay", async () => {
    const run = `${address}#sweep/a`;
    expect((await ludus("doctor", run, "--json")).stdout).toContain('"findings"');
    expect((await ludus("checkpoints", run)).stdout).toMatch(/\b1\b/);
    const exported = (await ludus("export", run)).stdout.trimEnd().split("\n");
    expect(JSON.parse(exported[0])).toMatchObject({ taskId: expect.any(String) });
    expect((await ludus("replay", run)).status).toBe(0);
  });

  test("a run that is there is gone on with only when asked", async () => {
    const run = `${address}#sweep/a`;
    expect((await ludus("train", fakeConfigFile, "--run", run)).stderr).toContain("--resume");
    const resumed = await ludus(
      "train",
      fakeConfigFile,
      "--run",
      run,
      "--resume",
      "--set",
      "steps=3",
      "--accept",
      "steps",
    );
    expect(resumed.status).toBe(0);
    expect((await ludus("runs", address)).stdout).toMatch(/^sweep\/a +letters +grpo +3\/3 /m);
  });

  test("runs of a configuration's own store are numbered there", async () => {
    const file = join(folder, "stored-config.ts");
    const own = (path: string) => JSON.stringify(join(process.cwd(), path));
    writeFileSync(
      file,
      `import { config as other } from ${own("src/cli/fixtures/fake-config.ts")};
       import { postgres } from ${own("src/store/index.ts")};
       export const config = () => ({ ...other(), steps: 1, store: postgres(${JSON.stringify(server.url())}, { schema: "numbered" }) });`,
    );
    for (const name of ["runs/letters-1", "runs/letters-2"]) {
      const { stdout } = await ludus("train", file, "--json");
      expect(JSON.parse(stdout)).toMatchObject({ run: name });
    }
    expect((await ludus("train", file, "--resume", "--json")).stdout).toContain("runs/letters-2");
  });

  test("the dashboard shows them", async () => {
    const served = await serveDashboard({ runs: address, port: 0 });
    try {
      const url = new URL(served.url);
      const headers = { authorization: `Bearer ${url.searchParams.get("token")}` };
      const listed = await (await fetch(new URL("/api/runs", url), { headers })).json();
      expect(listed).toMatchObject({ total: 2, runs: [{ id: "sweep/a" }, { id: "sweep/b" }] });
    } finally {
      await served.close();
    }
  });

  test("what is not there is an error that says so", async () => {
    expect((await ludus("doctor", `${address}#none`)).stderr).toMatch(/no-such-run.*"none"/s);
    expect((await ludus("doctor", address)).stderr).toMatch(/no-run-named/);
  });

  test("no command has shown the password", () => {
    expect(said.join("\n")).not.toContain(password);
    expect(said.length).toBeGreaterThan(10);
  });
});
