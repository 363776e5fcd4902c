import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BrowserEnvOptions, browserEnv } from "../env/browser/browser-env.ts";
import { roomsWeb } from "../env/browser/testing/rooms.ts";
import { evaluate } from "../eval/evaluate.ts";
import { fromScratch } from "./from-scratch.ts";
import type { LearningPolicy } from "./learning-policy.ts";
import { grpo } from "./presets/grpo.ts";
import { cosine } from "./schedule.ts";
import { train } from "./train-sync.ts";
import { imitate } from "./warm-start.ts";

const browser = process.env.LUDUS_BROWSER ?? "";
// the server writes files into the folder it is started in
const folder = mkdtempSync(join(tmpdir(), "ludus-mcp-"));
const server = {
  command: process.execPath,
  args: [
    join(import.meta.dirname, "../../node_modules/@playwright/mcp/cli.js"),
    ...["--headless", "--isolated", "--no-sandbox", "--executable-path", browser],
  ],
  cwd: folder,
};
const rooms = (pages: BrowserEnvOptions["pages"]) =>
  browserEnv({ web: roomsWeb, pages, actions: "names", view: "brief", viewTokens: 60, turns: 8, actionMs: 20_000 });

let policy: LearningPolicy;
beforeAll(async () => {
  const trained = await train({
    env: rooms("dom"),
    policy: fromScratch({ size: "tiny" }),
    warmStart: imitate({
      demonstrations: 2000,
      steps: 800,
      batchSize: 32,
      learningRate: cosine(3e-3, 0.1),
    }),
    algorithm: grpo({ groupSize: 8, learningRate: 5e-4 }),
    steps: 40,
    tasksPerStep: 8,
    seed: 3,
  });
  policy = trained.policy;
}, 600_000);
afterAll(async () => {
  await policy?.engine.close();
  rmSync(folder, { recursive: true, force: true });
});

// combinations of room and person that training never asks for
const unseen = { split: "new-kinds", temperature: 0.2, seed: 5 };

test("an agent that was trained without a browser solves tasks it has not seen", async () => {
  const { success } = await evaluate(rooms("dom"), policy, { ...unseen, tasks: 50 });
  expect(success.mean).toBeGreaterThan(0.8);
});

test.skipIf(browser === "")(
  "it drives the published server of @playwright/mcp, and says the same there",
  async () => {
    const few = { ...unseen, tasks: 4, concurrency: 1 };
    const [through, without] = [
      await evaluate(rooms({ mcp: server }), policy, few),
      await evaluate(rooms("dom"), policy, few),
    ];
    expect(through.infrastructureFailures).toBe(0);
    const said = ({ rollouts }: typeof through) =>
      rollouts.map(({ trajectories }) => trajectories.map(({ tokens_T }) => [...tokens_T]));
    expect(said(through)).toEqual(said(without));
    expect(through.success.mean).toBeGreaterThan(0.7);
  },
  300_000,
);
