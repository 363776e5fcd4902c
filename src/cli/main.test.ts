import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fakeConfigFile } from "./testing/trained-run.ts";

// The program itself: signals, pipes and Node's own way with TypeScript.

const main = join(import.meta.dirname, "main.ts");
const timeoutMs = 60_000;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-main-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

function start(args: readonly string[]) {
  const child = spawn(process.execPath, [main, ...args], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const written = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    written.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    written.stderr += text;
  });
  const ended = once(child, "close").then(([status]: unknown[]) => ({ status, ...written }));
  return { child, written, ended };
}

async function says(child: ChildProcess, written: { stderr: string }, text: string): Promise<void> {
  while (!written.stderr.includes(text)) await once(child.stderr!, "data");
}

/** A training whose steps take a while, or whose last one never ends. */
function slowConfig(name: string, isStuck: boolean): string {
  const file = join(folder, name);
  writeFileSync(
    file,
    `import { setTimeout } from "node:timers/promises";
    import { config as make } from ${JSON.stringify(fakeConfigFile)};
    export const config = () => {
      const { policy, ...config } = make();
      return {
        ...config, steps: 1000, eval: { tasks: 0 },
        async policy(env, seed) {
          const made = await policy(env, seed);
          const step = made.engine.step.bind(made.engine);
          made.engine.step = async (options) => {
            await setTimeout(${isStuck ? 1e9 : 20});
            return step(options);
          };
          return made;
        },
      };
    };`,
  );
  return file;
}

describe("Ctrl-C", () => {
  test(
    "once saves and ends, and the run can be resumed",
    async () => {
      const file = slowConfig("slow.ts", false);
      const { child, written, ended } = start(["train", file]);
      await says(child, written, "grpo 1/1000");
      child.kill("SIGINT");
      const { status, stdout } = await ended;
      expect(status).toBe(130);
      const steps = Number(/stopped after (\d+) steps?.*kept in runs.letters-1/.exec(stdout)?.[1]);
      expect(steps).toBeGreaterThan(0);
      const resumed = await start(["train", file, "--resume", "--set", `steps=${steps + 1}`]).ended;
      expect(resumed.stdout).toContain(`finished after ${steps + 1} steps`);
      expect(resumed.status).toBe(0);
    },
    timeoutMs,
  );

  test(
    "twice ends at once, whatever goes on",
    async () => {
      const { child, written, ended } = start(["train", slowConfig("stuck.ts", true), "--run", "stuck"]);
      await says(child, written, "phase grpo");
      child.kill("SIGINT");
      await says(child, written, "Once more stops at once");
      child.kill("SIGINT");
      expect((await ended).status).toBe(130);
    },
    timeoutMs,
  );
});

test(
  "a reader that has seen enough is no failure",
  async () => {
    expect(
      (await start(["train", fakeConfigFile, "--run", "whole", "--quiet", "--set", "tasksPerStep=200"]).ended).status,
    ).toBe(0);
    const { child, ended } = start(["export", "whole"]);
    child.stdout.once("data", () => child.stdout.destroy());
    expect(await ended).toMatchObject({ status: 0, stderr: "" });
  },
  timeoutMs,
);

test(
  "TypeScript that Node cannot run as it is, is refused with what to do",
  async () => {
    writeFileSync(join(folder, "enum.ts"), "enum Size { Small }\nexport const config = Size;\n");
    const { status, stderr } = await start(["train", "enum.ts"]).ended;
    expect(status).toBe(1);
    expect(stderr).toMatch(/^bad-typescript: .*no enum/s);
  },
  timeoutMs,
);
