import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { modelFiles } from "../fake-model-files.ts";
import { hubFolder } from "./hub-folder.ts";
import { type FakeHub, fakeModelName, startFakeHub } from "./testing/fake-hub.ts";

// The cache is shared with Python's huggingface_hub: what one downloads, the other finds.

let hub: FakeHub;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ludus-hub-parity-"));
  hub = await startFakeHub({ files: await modelFiles() });
});
afterAll(async () => {
  await hub.close();
  rmSync(folder, { recursive: true });
});

async function python(code: string, env: Record<string, string>): Promise<string> {
  const { stdout } = await promisify(execFile)(process.env.LUDUS_PYTHON!, ["-c", code], {
    env: { ...process.env, HF_ENDPOINT: hub.endpoint, ...env },
  });
  return stdout.trim().split("\n").at(-1)!;
}

test("transformers loads what was downloaded here, offline", async () => {
  const cache = join(folder, "ours");
  const snapshot = await hubFolder(fakeModelName, { cache, endpoint: hub.endpoint, log: () => {} });
  const code = `
from huggingface_hub import snapshot_download
from transformers import AutoModelForCausalLM, AutoTokenizer
path = snapshot_download("${fakeModelName}", local_files_only=True)
model = AutoModelForCausalLM.from_pretrained("${fakeModelName}")
AutoTokenizer.from_pretrained("${fakeModelName}").apply_chat_template([{"role": "user", "content": "x"}])
print(path)`;
  expect(await python(code, { HF_HUB_CACHE: cache, HF_HUB_OFFLINE: "1" })).toBe(snapshot);
});

test("what huggingface_hub downloaded is found here, offline", async () => {
  const cache = join(folder, "theirs");
  const code = `
from huggingface_hub import snapshot_download
print(snapshot_download("${fakeModelName}"))`;
  const snapshot = await python(code, { HF_HUB_CACHE: cache, HF_HUB_DISABLE_XET: "1" });
  expect(await hubFolder(fakeModelName, { cache, offline: true })).toBe(snapshot);
});
