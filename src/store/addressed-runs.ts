import { LudusError } from "../errors.ts";
import { isPostgresAddress, withoutPassword } from "./postgres/address.ts";
import { type PostgresRuns, postgres } from "./postgres-runs.ts";
import type { RunCatalog } from "./run-catalog.ts";
import { sqliteRuns } from "./sqlite-runs.ts";

interface Place {
  readonly runs: RunCatalog;
  readonly id: string;
}

/**
 * Runs by where they are: a folder, as `sqliteRuns()` has them, or `postgres://host/database#sweep/first`, the run `sweep/first` on that
 * server. With an address, all runs there: a folder of runs, or a server. Passwords in addresses are used, and never shown again.
 */
export function addressedRuns(root?: string): RunCatalog {
  if (root !== undefined) return isPostgresAddress(root) ? postgres(serverOf(root)) : sqliteRuns(root);
  const folders = sqliteRuns();
  const servers = new Map<string, PostgresRuns>();
  const place = (address: string): Place => {
    if (!isPostgresAddress(address)) return { runs: folders, id: address };
    const [server, id] = [serverOf(address), runOf(address)];
    if (id === "") throw noRunNamed(withoutPassword(address));
    const runs = servers.get(server) ?? postgres(server);
    servers.set(server, runs);
    return { runs, id };
  };
  return {
    list: (filter) => folders.list(filter),
    count: (filter) => folders.count(filter),
    async info(address) {
      const { runs, id } = place(address);
      return runs.info(id);
    },
    async open(address) {
      const { runs, id } = place(address);
      return runs.open(id);
    },
    async openForWriting(address, options) {
      const { runs, id } = place(address);
      return runs.openForWriting(id, options);
    },
    checkpointDirectory(address) {
      const { runs, id } = place(address);
      return runs.checkpointDirectory(id);
    },
  };
}

function serverOf(address: string): string {
  const shown = withoutPassword(address);
  const hash = shown.indexOf("#");
  return hash < 0 ? shown : shown.slice(0, hash);
}

function runOf(address: string): string {
  const hash = address.indexOf("#");
  return hash < 0 ? "" : address.slice(hash + 1);
}

function noRunNamed(address: string): LudusError {
  return new LudusError("no-run-named", {
    got: address,
    expected: `a run on it: ${address}#<run>`,
    hint: `ludus runs ${address} lists them.`,
  });
}
