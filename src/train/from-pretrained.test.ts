import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { embedded } from "../engine/embedded/embedded.ts";
import { modelFiles } from "../engine/fake-model-files.ts";
import { type FakeHub, fakeModelName, startFakeHub } from "../engine/hub/testing/fake-hub.ts";
import { letters } from "./fixtures/letters.ts";
import { type FromPretrainedOptions, fromPretrained } from "./from-pretrained.ts";
import { grpo } from "./presets/grpo.ts";
import { train } from "./train-sync.ts";

let hub: FakeHub;
let cache: string;
beforeAll(async () => {
  cache = mkdtempSync(join(tmpdir(), "ludus-pretrained-"));
  hub = await startFakeHub({ files: await modelFiles() });
});
afterAll(async () => {
  await hub.close();
  rmSync(cache, { recursive: true });
});

test("a model of the hub is downloaded and trained", async () => {
  const here = { cache, endpoint: hub.endpoint, log: () => {} };
  const policy = fromPretrained(fakeModelName, { ...here, engine: (start) => embedded(start) });
  const {
    policy: trained,
    steps,
    metrics,
  } = await train({
    env: letters(),
    policy,
    algorithm: grpo({ groupSize: 2 }),
    steps: 1,
    tasksPerStep: 2,
    eval: { tasks: 0 },
  });
  expect(steps).toBe(1);
  expect(metrics["rollout/tokens"] ?? 0).toBeGreaterThan(0);
  expect(trained.tokenizer?.chatTemplate).toBeDefined();
  await trained.engine.close();
});

test("options that are misspelt or contradict each other are refused before anything is downloaded", () => {
  expect(() => fromPretrained("a/b", { loRa: false } as FromPretrainedOptions)).toThrow('"lora"');
  expect(() => fromPretrained("a/b", { lora: { rank: 4 }, engine: (start) => embedded(start) })).toThrow("lora");
});

test("a folder without a chat template says what to do", async () => {
  const files = await modelFiles();
  const { "chat_template.jinja": _, ...rest } = files;
  const config = JSON.parse(rest["tokenizer_config.json"].toString());
  delete config.chat_template;
  const plain = await startFakeHub({
    files: { ...rest, "tokenizer_config.json": Buffer.from(JSON.stringify(config)) },
  });
  const policy = fromPretrained(fakeModelName, { cache: `${cache}/plain`, endpoint: plain.endpoint, log: () => {} });
  await expect(policy(letters(), 0)).rejects.toMatchObject({ code: "no-chat-template" });
  await plain.close();
});
