import { LudusError } from "../../errors.ts";
import type { RunCatalog, RunInfo, RunReader } from "../../store/index.ts";

interface OpenReader {
  readonly uid: string;
  readonly reader: Promise<RunReader>;
  users: number;
  /** Another run has its id since: to be closed after its last use. */
  isReplaced: boolean;
}

const maxOpen = 24;

/** Runs of a catalog by id, with readers that stay open for the next request. */
export class OpenRuns {
  readonly catalog: RunCatalog;
  readonly #readers = new Map<string, OpenReader>();

  constructor(catalog: RunCatalog) {
    this.catalog = catalog;
  }

  async find(id: string): Promise<RunInfo> {
    const info = await this.catalog.info(id);
    if (info !== undefined) return info;
    throw new LudusError("no-such-run", { got: `"${id}"`, expected: "a run that is listed" });
  }

  /** The reader unused for longest is closed when there are too many. */
  async read<Value>(id: string, use: (reader: RunReader, run: RunInfo) => Promise<Value>): Promise<Value> {
    const run = await this.find(id);
    const open = this.#open(run);
    open.users++;
    try {
      return await use(await open.reader, run);
    } finally {
      open.users--;
      if (open.isReplaced && open.users === 0) await closeReader(open);
      await this.#closeIdle(maxOpen);
    }
  }

  async close(): Promise<void> {
    await this.#closeIdle(0);
  }

  #open({ id, uid }: RunInfo): OpenReader {
    const known = this.#readers.get(id);
    this.#readers.delete(id);
    const open = known?.uid === uid ? known : this.#start(id, uid);
    // the last in the map is the last that was used
    this.#readers.set(id, open);
    if (known !== undefined && known !== open) {
      known.isReplaced = true;
      if (known.users === 0) void closeReader(known);
    }
    return open;
  }

  #start(id: string, uid: string): OpenReader {
    const open = { uid, reader: this.catalog.open(id), users: 0, isReplaced: false };
    // whoever waits for it learns of the failure; the next request tries again
    open.reader.catch(() => {
      if (this.#readers.get(id) === open) this.#readers.delete(id);
    });
    return open;
  }

  async #closeIdle(keep: number): Promise<void> {
    for (const [id, open] of this.#readers) {
      if (this.#readers.size <= keep) return;
      if (open.users > 0) continue;
      this.#readers.delete(id);
      await closeReader(open);
    }
  }
}

/** One that could not be opened has nothing to close. */
async function closeReader({ reader }: OpenReader): Promise<void> {
  await reader.then(
    (opened) => opened.close(),
    () => {},
  );
}
