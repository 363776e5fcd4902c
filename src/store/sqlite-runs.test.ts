import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteRuns } from "./sqlite-runs.ts";
import { storeContract } from "./store.contract.ts";

storeContract("the SQLite store", async () => {
  const directory = mkdtempSync(join(tmpdir(), "ludus-store-"));
  return {
    runs: sqliteRuns(directory),
    remove: async () => rmSync(directory, { recursive: true }),
  };
});
