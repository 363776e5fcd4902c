import { execFile, execFileSync } from "node:child_process";
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A PostgreSQL server of a test's own, in a temporary folder, on this machine alone. */
export interface LocalPostgres {
  readonly port: number;
  /** Its processes and files. */
  readonly folder: string;
  /** Its superuser has no password; others are made by tests. */
  url(options?: { user?: string; password?: string; database?: string }): string;
  /** "immediate" is what a crash is. */
  stop(mode?: "fast" | "immediate"): Promise<void>;
  start(): Promise<void>;
  /** Stops it and removes its files. */
  close(): Promise<void>;
}

/** Where PostgreSQL's programs are; undefined where it is not installed. `LUDUS_POSTGRES_BIN` says otherwise. */
export function findPostgres(env: NodeJS.ProcessEnv = process.env): string | undefined {
  const installed = globSync("/usr/lib/postgresql/*/bin").sort((a, b) => versionOf(b) - versionOf(a));
  const folders = [env.LUDUS_POSTGRES_BIN ?? "", ...(env.PATH ?? "").split(delimiter), ...installed];
  return folders.find((folder) => folder !== "" && existsSync(join(folder, "initdb")));
}

const versionOf = (folder: string) => Number(/\/(\d+)\/bin$/.exec(folder)?.[1] ?? 0);

/** Says in one line why suites are left out; where they must run, that is an error. */
export function hasPostgres(): boolean {
  if (findPostgres() !== undefined) return true;
  const line = "no PostgreSQL: its suites are left out. scripts/setup-postgres.sh installs it";
  if (process.env.LUDUS_REQUIRE_POSTGRES === "1") throw new Error(line);
  console.warn(line);
  return false;
}

export interface LocalPostgresOptions {
  /** Lines for its postgresql.conf. */
  settings?: readonly string[];
  /** Where its data goes; a temporary folder by default. */
  data?: string;
}

export async function startPostgres({ settings = [], data }: LocalPostgresOptions = {}): Promise<LocalPostgres> {
  const bin = findPostgres();
  if (bin === undefined) throw new Error("no PostgreSQL; scripts/setup-postgres.sh installs it");
  const folder = mkdtempSync(join(tmpdir(), "ludus-postgres-"));
  const user = serverUser();
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid ?? user.uid);
  const cluster = data ?? join(folder, "data");
  const port = await freePort();
  const command = (name: string, args: readonly string[]) => run(join(bin, name), args, { ...user, cwd: folder });
  try {
    await command("initdb", ["-D", cluster, "-A", "trust", "-U", "ludus", "-E", "UTF8", "--no-sync"]);
    const lines = [`port = ${port}`, `unix_socket_directories = '${folder}'`, "listen_addresses = '127.0.0.1'"];
    const conf = join(cluster, "postgresql.conf");
    const text = `${readFileSync(conf, "utf8")}\n${[...lines, "fsync = off", ...settings].join("\n")}\n`;
    writeFileSync(conf, text);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
  let isRunning = false;
  const server: LocalPostgres = {
    port,
    folder,
    url: ({ user: name = "ludus", password, database = "postgres" } = {}) =>
      `postgres://${name}${password === undefined ? "" : `:${encodeURIComponent(password)}`}@127.0.0.1:${port}/${database}`,
    async start() {
      await command("pg_ctl", ["-D", cluster, "-l", join(folder, "log"), "-w", "-s", "start"]);
      isRunning = true;
    },
    async stop(mode = "fast") {
      if (!isRunning) return;
      await command("pg_ctl", ["-D", cluster, "-m", mode, "-w", "-s", "stop"]);
      isRunning = false;
    },
    async close() {
      await server.stop("immediate");
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}

/** PostgreSQL refuses to run as root; its package has a user for it. */
function serverUser(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const id = (flag: string) => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
