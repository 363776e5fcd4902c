import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openRun } from "./sqlite-store.ts";
import { storeContract } from "./store.contract.ts";

storeContract("the SQLite store", async () => {
  const directory = mkdtempSync(join(tmpdir(), "ludus-store-"));
  return {
    open: (now) => openRun(directory, { now }),
    openReader: () => openRun(directory, { readOnly: true }),
    remove: async () => rmSync(directory, { recursive: true }),
  };
});
