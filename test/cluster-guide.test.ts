import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtinCommands } from "../src/cli/commands/index.ts";
import { hasPostgres, type LocalPostgres, startPostgres } from "../src/store/testing/local-postgres.ts";

// docs/how-to/cluster.md, with processes in place of machines.

const page = readFileSync("docs/how-to/cluster.md", "utf8");
const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "gs"))].map(([, text]) => text);
const commands = blocks("sh").flatMap((text) => text.trim().split("\n"));
const address = "postgres://ludus@db.example/ludus";

describe.runIf(hasPostgres())("the how-to of clusters", () => {
  let server: LocalPostgres;
  let folder: string;
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    server = await startPostgres();
    folder = mkdtempSync(join(tmpdir(), "ludus-cluster-"));
    const own = (path: string) => JSON.stringify(join(process.cwd(), "src", path));
    const file = blocks("ts")[0]
      .replaceAll('"ludus"', own("index.ts"))
      .replaceAll('"ludus/environments"', own("env/environments/index.ts"));
    writeFileSync(join(folder, "train.ts"), file);
  }, 60_000);
  afterAll(async () => {
    const alive = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    for (const child of alive) child.kill("SIGKILL");
    await Promise.all(alive.map((child) => once(child, "exit")));
    rmSync(folder, { recursive: true, force: true });
    await server?.close();
  });

  function start(command: string) {
    const url = server.url();
    const args = command
      .replace(/^ludus /, "")
      .replaceAll(address, url)
      .split(" ");
    const env = { ...process.env, LUDUS_POSTGRES: url, LUDUS_CHECKPOINTS: join(folder, "checkpoints") };
    const child = spawn(process.execPath, [join(process.cwd(), "bin/ludus.js"), ...args], { cwd: folder, env });
    children.push(child);
    let [stdout, stderr] = ["", ""];
    child.stdout.on("data", (data) => (stdout += data));
    child.stderr.on("data", (data) => (stderr += data));
    const ended = once(child, "close").then(([status]) => ({ status, stdout, stderr }));
    return { child, ended, said: () => stdout };
  }
  const named = (name: string) => commands.filter((command) => command.startsWith(`ludus ${name}`));

  test("its commands train, and show what was trained", async () => {
    expect(commands).toHaveLength(7);
    const workers = [...named("worker"), ...named("worker")].map(start);
    const trained = await start(named("train")[0]).ended;
    expect(trained.status, trained.stderr).toBe(0);
    const status = await start(named("cluster")[0]).ended;
    expect(status.stdout).toMatch(/^worker .* key-door/m);
    expect(status.stdout).toMatch(/^first +0 +0 +[1-9]\d* +0 /m);
    const listed = await start(named("runs")[0]).ended;
    expect(listed.stdout).toMatch(/^first +key-door +grpo +2\/2 /m);
    for (const command of [...named("doctor"), ...named("export")]) {
      const { status: code, stderr, stdout } = await start(command).ended;
      expect(stdout, stderr).not.toBe("");
      expect([0, 1]).toContain(code);
    }
    for (const { child } of workers) child.kill("SIGINT");
    for (const { ended } of workers) expect((await ended).stderr).toMatch(/\d+ groups\n$/);
    const dashboard = start(named("dashboard")[0]);
    while (!dashboard.said().includes("\n")) await once(dashboard.child.stdout, "data");
    const shown = new URL(dashboard.said().trim());
    const headers = { authorization: `Bearer ${shown.searchParams.get("token")}` };
    expect(await (await fetch(new URL("/api/runs", shown), { headers })).json()).toMatchObject({ total: 1 });
    dashboard.child.kill("SIGINT");
    expect((await dashboard.ended).status).toBe(130);
  }, 120_000);
});

test("commands in deploy/ are those of this ludus, and options are known", () => {
  const files = ["deploy/compose.yaml", ...globSync("deploy/kubernetes/*.yaml")].map((file) =>
    readFileSync(file, "utf8"),
  );
  const found = files.flatMap((text) => [...text.matchAll(/(?:command|args): \["(train|worker|dashboard)", (.*)\]/g)]);
  expect(found.map(([, name]) => name).sort()).toEqual(["dashboard", "dashboard", "train", "worker", "worker"]);
  for (const [, name, rest] of found) {
    const known = Object.keys(builtinCommands.find((command) => command.name === name)?.options ?? {});
    for (const [, option] of rest.matchAll(/"--([\w-]+)"/g)) expect(known).toContain(option);
  }
});
