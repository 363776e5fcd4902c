import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { compact } from "../../policy/formats/compact.ts";
import { runRollout } from "../../rollout/run-rollout.ts";
import { generated } from "../../task/generated.ts";
import { tool } from "../../tool/define-tool.ts";
import { processSandbox } from "../../tool/sandbox/process-sandbox.ts";
import { defineEnv } from "../define-env.ts";
import { scriptedEngine } from "./contract/scripted-engine.ts";

test("tools of a rollout share a box of the sandbox it was given", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-rollout-"));
  const seen: string[] = [];
  const env = defineEnv<null, null>({
    name: "shell",
    tasks: generated(() => null),
    start: () => ({ state: null, say: "go" }),
    tools: {
      sh: tool({
        input: z.object({ n: z.number() }),
        run: async ({ n }, { box, signal }) => {
          const opened = await box({ files: { log: "0\n" } });
          seen.push(...readdirSync(folder));
          return (await opened.exec("sh", { args: ["-c", `echo ${n} >> log; cat log`], signal })).stdout;
        },
      }),
    },
    format: compact(),
  });
  const tokenizer = byteTokenizer();
  const renderer = compactRenderer({ tokenizer });
  const policy = scriptedEngine({ tokenizer, renderer, says: ['sh{"n":1}', 'sh{"n":2}', "=done"] });
  const task = await env.tasks.at("train", 0);
  const rollout = await runRollout(env, task, policy, { id: "r", seed: 1, sandbox: processSandbox({ folder }) });
  expect(rollout.stop, rollout.failure).toBe("completed");
  expect(rollout.trajectories[0].turns.map(({ observation }) => observation)).toEqual(["0\n1\n", "0\n1\n2\n", ""]);
  expect(new Set(seen).size).toBe(1);
  expect(existsSync(join(folder, seen[0]))).toBe(false);
  rmSync(folder, { recursive: true });
});
