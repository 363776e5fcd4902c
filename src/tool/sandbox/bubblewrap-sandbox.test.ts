import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe } from "vitest";
import { bubblewrapSandbox } from "./bubblewrap-sandbox.ts";
import { sandboxContract } from "./sandbox.contract.ts";

describe("bubblewrap", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-bubblewrap-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  sandboxContract("bubblewrap", () => bubblewrapSandbox({ folder }), { leftovers: () => readdirSync(folder) });
});
