import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe } from "vitest";
import { engineContract } from "../engine.contract.ts";
import { torch } from "./torch.ts";

const python = process.env.LUDUS_PYTHON;
const script = fileURLToPath(new URL("../../../test/parity/family_folders.py", import.meta.url));
// experts are chosen: near a border between two of them a derivative is no limit of finite differences, so no mixture is here
const families = ["gemma2", "smollm3"];

const parent = mkdtempSync(join(tmpdir(), "ludus-families-"));
if (python) execFileSync(python, [script, parent, ...families], { stdio: ["ignore", "pipe", "ignore"] });

// a minute and a half each
describe.runIf(python)("models that transformers computes", () => {
  afterAll(() => rmSync(parent, { recursive: true }));

  for (const name of families) {
    engineContract(`${name} by transformers`, {
      make: () => torch({ folder: join(parent, name), valueHead: true, device: "cpu", threads: 1, log: () => {} }),
      learns: true,
      rounding: "by-batch",
    });
  }
});
