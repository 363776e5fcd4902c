import { accessSync, constants, readdirSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { wallClock } from "../clock.ts";
import { errorText, LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeFolder } from "../make-folder.ts";
import type { RunCatalog, RunFilter, RunInfo, WriterOptions } from "./run-catalog.ts";
import { badRunId, isFound, isRunId, noSuchRun, pageOf, runName } from "./run-id.ts";
import { eventExtremes } from "./sqlite/event-tables.ts";
import { isLocked } from "./sqlite/writer-lock.ts";
import { openRun } from "./sqlite-store.ts";
import type { RunReader, RunStore } from "./store.ts";

const maxDepth = 3;
const maxCached = 5000;
/** Folders are walked again for lists after so long: a page that follows a thousand runs asks every second. */
const scanMs = 500;

export interface SqliteRunsOptions {
  /** Milliseconds. */
  now: () => number;
}

const knownSqliteRunsOptions: KnownOptions<SqliteRunsOptions> = { now: true };

/** A run as the file system shows it: cheap to know of a thousand. */
interface RunFile {
  readonly id: string;
  readonly directory: string;
  readonly changed: number;
  readonly version: string;
  readonly uid: string;
  /** Whether somebody has the run open, to read or to write. */
  readonly isOpen: boolean;
}

type Details = Pick<RunInfo, "started" | "ended" | "problem">;

/**
 * Runs in folders, each with its `run.sqlite` and its checkpoints. An id is the path of the run's folder relative to `root`,
 * and cannot leave it; a root that is itself a run holds that one alone, under its own name. Without a root, ids are paths
 * relative to the working directory, or absolute. Runs that another process begins are listed within half a second.
 */
export function sqliteRuns(root?: string, options: Partial<SqliteRunsOptions> = {}): RunCatalog {
  refuseUnknownOptions("sqliteRuns", options, knownSqliteRunsOptions);
  return new SqliteRuns(root, options.now ?? wallClock);
}

class SqliteRuns implements RunCatalog {
  readonly #root: string;
  readonly #isSealed: boolean;
  readonly #now: () => number;
  /** What had to be read from runs, once for each time they change. */
  readonly #details = new Map<string, { readonly version: string; readonly details: Details }>();

  #scan: { readonly time: number; readonly files: readonly RunFile[] } | undefined;

  constructor(root: string | undefined, now: () => number) {
    this.#now = now;
    this.#root = resolve(root ?? ".");
    this.#isSealed = root !== undefined;
  }

  async *list(filter: RunFilter = {}): AsyncGenerator<RunInfo> {
    for (const { id, directory } of pageOf(this.#found(filter), filter)) {
      const file = runFile(directory, id);
      if (file !== undefined) yield this.#info(file); // else it was removed since
    }
  }

  async count(filter: Pick<RunFilter, "search"> = {}): Promise<number> {
    return this.#found(filter).length;
  }

  async info(id: string): Promise<RunInfo | undefined> {
    const file = this.#file(id);
    return file === undefined ? undefined : this.#info(file);
  }

  async open(id: string): Promise<RunReader> {
    const file = this.#file(id);
    if (file === undefined) throw noSuchRun(id, this.#isSealed ? `a run in ${this.#root}` : "the folder of a run");
    return openRun(file.directory, { readOnly: true });
  }

  async openForWriting(id: string, { now }: WriterOptions): Promise<RunStore> {
    if (this.#isSealed && !isRunId(id)) throw badRunId(id);
    const directory = this.#directory(id);
    this.#scan = undefined;
    try {
      makeFolder(directory);
    } catch (cause) {
      throw new LudusError("store-unopenable", {
        got: errorText(cause),
        expected: `a folder that can be made: ${directory}`,
        hint: "Check the permissions of the folders above it, and that none of them is a file.",
        cause,
      });
    }
    return openRun(directory, { now });
  }

  checkpointDirectory(id: string): string {
    if (this.#isSealed && !isRunId(id)) throw badRunId(id);
    return this.#directory(id);
  }

  #directory(id: string): string {
    const isOwn = this.#isSealed && id === basename(this.#root) && runFile(this.#root, id) !== undefined;
    return isOwn ? this.#root : resolve(this.#root, id);
  }

  #file(id: string): RunFile | undefined {
    if (this.#isSealed && !isRunId(id)) return undefined;
    const directory = this.#directory(id);
    refuseUnreadable(directory);
    return runFile(directory, id);
  }

  /** The last changed first. */
  #found(filter: Pick<RunFilter, "search">): readonly RunFile[] {
    if (this.#scan === undefined || this.#now() - this.#scan.time >= scanMs) {
      const own = runFile(this.#root, this.#isSealed ? basename(this.#root) : ".");
      const files = own === undefined ? findRuns(this.#root) : [own];
      files.sort((a, b) => b.changed - a.changed || (a.id < b.id ? -1 : 1));
      this.#scan = { time: this.#now(), files };
    }
    return this.#scan.files.filter(({ id }) => isFound(id, filter));
  }

  #info({ id, directory, changed, version, uid, isOpen }: RunFile): RunInfo {
    const details = this.#detailsOf(directory, version);
    return { id, name: runName(id), uid, version, changed, isWritten: isOpen && isLocked(directory), ...details };
  }

  #detailsOf(directory: string, version: string): Details {
    const known = this.#details.get(directory);
    if (known?.version === version) return known.details;
    const details = readDetails(directory);
    this.#details.delete(directory);
    this.#details.set(directory, { version, details });
    const [oldest] = this.#details.keys();
    if (this.#details.size > maxCached && oldest !== undefined) this.#details.delete(oldest);
    return details;
  }
}

function readDetails(directory: string): Details {
  try {
    return eventExtremes(join(directory, "run.sqlite"));
  } catch (error) {
    // one damaged run must not hide the others
    return { problem: errorText(error) };
  }
}

function findRuns(root: string): RunFile[] {
  if (statSync(root, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new LudusError("no-runs", {
      got: `"${root}", which is no folder`,
      expected: "a folder of runs",
      hint: 'Training with `run: "runs/first"` makes one; name another folder if yours are elsewhere.',
    });
  }
  refuseUnreadable(root);
  const found: RunFile[] = [];
  collectRuns(root, "", maxDepth, found);
  return found;
}

/** A folder that was named and may not be looked into is not the same as one without a run. */
function refuseUnreadable(directory: string): void {
  try {
    if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return;
    accessSync(directory, constants.R_OK | constants.X_OK);
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code !== "EACCES" && code !== "EPERM") return;
    throw new LudusError("store-unreadable", {
      got: `${directory}, which this user may not read`,
      expected: "a folder that can be read",
      hint: "Check its permissions and those of the folders above it (ls -ld).",
      cause,
    });
  }
}

function collectRuns(directory: string, prefix: string, depth: number, found: RunFile[]): void {
  for (const name of foldersIn(directory)) {
    const [path, id] = [join(directory, name), `${prefix}${name}`];
    const file = runFile(path, id);
    if (file !== undefined) found.push(file);
    else if (depth > 1) collectRuns(path, `${id}/`, depth - 1, found);
  }
}

function foldersIn(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return entries.map(({ name }) => name).filter((name) => !name.startsWith(".") && name !== "node_modules");
  } catch {
    // a folder that was just removed, or may not be read, must not hide the others
    return [];
  }
}

function runFile(directory: string, id: string): RunFile | undefined {
  const main = fileStats(join(directory, "run.sqlite"));
  if (main === undefined || main.size === 0) return undefined;
  const log = fileStats(join(directory, "run.sqlite-wal"));
  // while a run is written its news are in the log beside it; readers make one that is empty
  const [logSize, logTime] = log === undefined || log.size === 0 ? [0, 0] : [log.size, log.mtimeMs];
  return {
    id,
    directory,
    changed: Math.max(main.mtimeMs, logTime),
    version: [main.ino, main.size, main.mtimeMs, logSize, logTime].join(":"),
    // file systems give the number of a removed file to the next one
    uid: `${main.ino}:${main.birthtimeMs}`,
    isOpen: log !== undefined,
  };
}

function fileStats(path: string) {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // a name that no file can have, or a folder that may not be read
  }
}
