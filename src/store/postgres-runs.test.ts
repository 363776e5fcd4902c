import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { postgres } from "./postgres-runs.ts";
import { storeContract } from "./store.contract.ts";
import { hasPostgres, type LocalPostgres, startPostgres } from "./testing/local-postgres.ts";

describe.runIf(hasPostgres())("on a real server", () => {
  let server: LocalPostgres;
  let places = 0;
  beforeAll(async () => {
    server = await startPostgres();
  }, 60_000);
  afterAll(() => server?.close());

  storeContract("the postgres store", async () => {
    const checkpoints = mkdtempSync(join(tmpdir(), "ludus-postgres-checkpoints-"));
    const runs = postgres(server.url(), { schema: `place_${places++}`, checkpoints });
    return {
      runs,
      async remove() {
        await runs.close();
        rmSync(checkpoints, { recursive: true, force: true });
      },
    };
  });
});
