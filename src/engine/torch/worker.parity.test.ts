import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

const root = join(import.meta.dirname, "../../..");
/** They take half a minute of processor time, and minutes on a busy machine. */
const timeout = 900_000;

describe.runIf(process.env.LUDUS_PYTHON)("the worker's own tests", () => {
  test("pass", { timeout }, () => {
    const env = { ...process.env, PYTHONPATH: `${join(root, "worker")}:${join(root, "worker/tests")}` };
    const args = ["-m", "unittest", "discover", "-s", join(root, "worker/tests")];
    const run = spawnSync(process.env.LUDUS_PYTHON!, args, { encoding: "utf8", env });
    expect(run.stderr).toMatch(/\nOK( \(skipped=\d+\))?\n$/);
  });
});
