import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

// Each example says itself whether it did what it promises: it ends with 1 otherwise. Together they take five minutes.
const run = promisify(execFile);

test.each(["openai-agent", "ai-sdk-agent", "python-agent", "own-algorithm", "first-steps"])(
  "examples/%s does what it promises",
  { timeout: 900_000 },
  async (name) => {
    const { stdout } = await run(process.execPath, [`examples/${name}/main.ts`], { maxBuffer: 64 * 1024 * 1024 });
    expect(stdout).not.toBe("");
  },
);
