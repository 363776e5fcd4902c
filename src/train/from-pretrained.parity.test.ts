import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { modelFiles } from "../engine/fake-model-files.ts";
import { fakeModelName, startFakeHub } from "../engine/hub/testing/fake-hub.ts";
import { letters } from "./fixtures/letters.ts";
import { fromPretrained } from "./from-pretrained.ts";
import { rejectionTuning } from "./presets/offline.ts";
import { train } from "./train-sync.ts";

test("a model of the hub learns through adapters on PyTorch where nothing else is said", async () => {
  const cache = mkdtempSync(join(tmpdir(), "ludus-pretrained-"));
  const hub = await startFakeHub({ files: await modelFiles() });
  try {
    const policy = fromPretrained(fakeModelName, { cache, endpoint: hub.endpoint, log: () => {} });
    const algorithm = rejectionTuning({ filter: () => true, groupSize: 2 });
    const config = { env: letters(), policy, algorithm, steps: 1, tasksPerStep: 2, eval: { tasks: 0 } };
    const { policy: trained } = await train(config);
    expect(trained.engine.info.name).toContain("torch");
    expect(trained.engine.info.policyVersion).toBe(1);
    await trained.engine.close();
  } finally {
    await hub.close();
    rmSync(cache, { recursive: true });
  }
});
