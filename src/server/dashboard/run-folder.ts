import { readdirSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { LudusError } from "../../errors.ts";
import { openRun, type RunReader } from "../../store/index.ts";

/** A run as the file system shows it: cheap to know of a thousand. */
export interface RunFile {
  readonly id: string;
  readonly directory: string;
  /** Milliseconds since 1970 of the last write. */
  readonly changed: number;
  /** Changes with every write, and when a run is made anew in the same place. */
  readonly version: string;
  readonly inode: number;
}

interface OpenReader {
  readonly reader: RunReader;
  readonly inode: number;
  users: number;
}

const maxDepth = 3;
const maxOpen = 24;
const scanMs = 500;

/** The runs below a folder. Only what was found there can be opened: an id is a name to look up, never a path. */
export class RunFolder {
  readonly root: string;
  readonly #now: () => number;
  readonly #readers = new Map<string, OpenReader>();
  #found: ReadonlyMap<string, RunFile> = new Map();
  #scanned = Number.NEGATIVE_INFINITY;

  constructor(root: string, now: () => number) {
    this.root = root;
    this.#now = now;
  }

  /** Newest first. */
  list(): readonly RunFile[] {
    if (this.#now() - this.#scanned >= scanMs) this.#scan();
    return [...this.#found.values()];
  }

  find(id: string): RunFile {
    const known = this.#found.get(id);
    const fresh = known === undefined ? undefined : runFile(known.directory, id);
    if (fresh !== undefined) return fresh;
    this.#scan();
    const found = this.#found.get(id);
    if (found !== undefined) return found;
    throw new LudusError("no-such-run", { got: `"${id}"`, expected: `a run in ${this.root}` });
  }

  /** Readers stay open for the next request, the one unused for longest is closed when there are too many. */
  async read<Value>(id: string, use: (reader: RunReader, file: RunFile) => Promise<Value>): Promise<Value> {
    const file = this.find(id);
    const open = await this.#open(file);
    open.users++;
    try {
      return await use(open.reader, file);
    } finally {
      open.users--;
      await this.#closeIdle(maxOpen);
    }
  }

  async close(): Promise<void> {
    await this.#closeIdle(0);
  }

  async #open(file: RunFile): Promise<OpenReader> {
    const known = this.#readers.get(file.id);
    this.#readers.delete(file.id);
    if (known !== undefined && known.inode === file.inode) {
      this.#readers.set(file.id, known);
      return known;
    }
    if (known?.users === 0) await known.reader.close();
    const opened = { reader: await openRun(file.directory, { readOnly: true }), inode: file.inode, users: 0 };
    this.#readers.set(file.id, opened);
    return opened;
  }

  async #closeIdle(keep: number): Promise<void> {
    for (const [id, open] of this.#readers) {
      if (this.#readers.size <= keep) return;
      if (open.users > 0) continue;
      this.#readers.delete(id);
      await open.reader.close();
    }
  }

  #scan(): void {
    const found: RunFile[] = [];
    const own = runFile(this.root, basename(this.root));
    if (own !== undefined) found.push(own);
    else findRuns(this.root, "", maxDepth, found);
    found.sort((a, b) => b.changed - a.changed || (a.id < b.id ? -1 : 1));
    this.#found = new Map(found.map((file) => [file.id, file]));
    this.#scanned = this.#now();
  }
}

function findRuns(directory: string, prefix: string, depth: number, found: RunFile[]): void {
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name.startsWith(".") || entry.name === "node_modules") continue;
    const [path, id] = [join(directory, entry.name), `${prefix}${entry.name}`];
    const file = runFile(path, id);
    if (file !== undefined) found.push(file);
    else if (depth > 1) findRuns(path, `${id}/`, depth - 1, found);
  }
}

function runFile(directory: string, id: string): RunFile | undefined {
  const main = statSync(join(directory, "run.sqlite"), { throwIfNoEntry: false });
  if (main === undefined || main.size === 0) return undefined;
  // while a run is written its news are in the log beside it
  const log = statSync(join(directory, "run.sqlite-wal"), { throwIfNoEntry: false });
  const changed = Math.max(main.mtimeMs, log === undefined || log.size === 0 ? 0 : log.mtimeMs);
  const version = [main.ino, main.size, main.mtimeMs, log?.size ?? 0, log?.mtimeMs ?? 0].join(":");
  return { id, directory, changed, version, inode: main.ino };
}
