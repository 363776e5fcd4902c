import { type ChildProcess, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Things on this machine that no box may reach, and what shows that one did. */
export interface World {
  /** A secret that lies in files, sockets, environments and command lines. */
  readonly token: string;
  readonly folder: string;
  /** What attacks are told, as variables. */
  facts(): Record<string, string>;
  /** What was done to this machine since the last call, in words. */
  takeChanges(): string[];
  close(): Promise<void>;
}

const canaryText = (token: string) => `canary ${token}\n`;

export async function openWorld(token: string): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), "ludus-attacked-"));
  chmodSync(folder, 0o755);
  const [canary, writable, path] = [join(folder, "canary.txt"), join(folder, "writable"), join(folder, "socket")];
  writeFileSync(canary, canaryText(token));
  mkdirSync(writable);
  chmodSync(writable, 0o777);
  let connections = 0;
  const abstract = `ludus-attacked-${process.pid}`;
  const servers = await Promise.all(
    [{ host: "127.0.0.1", port: 0 }, { path }, { path: `\0${abstract}` }].map((at) =>
      listen(at, token, () => {
        connections += 1;
      }),
    ),
  );
  chmodSync(path, 0o777);
  const address = servers[0]!.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  let victim = startVictim(token);
  return {
    token,
    folder,
    facts: () => ({
      ...{ CANARY: canary, WRITABLE: writable, PORT: `${port}`, SOCKET: path, ABSTRACT: abstract },
      VICTIM: `${victim.pid}`,
      OOM: readFileSync("/proc/self/oom_score_adj", "utf8").trim(),
    }),
    takeChanges() {
      const changes: string[] = [];
      if (readFileSync(canary, "utf8") !== canaryText(token)) changes.push("the canary was changed");
      for (const name of readdirSync(writable)) changes.push(`${name} was written outside`);
      if (connections > 0) changes.push("a server of this machine was reached");
      if (victim.exitCode !== null || victim.signalCode !== null || !existsSync(`/proc/${victim.pid}`)) {
        changes.push("a process of this machine was ended");
        victim = startVictim(token);
      }
      writeFileSync(canary, canaryText(token));
      for (const name of readdirSync(writable)) rmSync(join(writable, name), { recursive: true, force: true });
      connections = 0;
      return changes;
    },
    async close() {
      victim.kill("SIGKILL");
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function listen(
  at: { host: string; port: number } | { path: string },
  token: string,
  onReached: () => void,
): Promise<Server> {
  const server = createServer((socket) => {
    onReached();
    socket.on("error", () => {});
    socket.end(`${token}\n`);
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(at, () => resolve(server));
  });
}

/** A bystander, with the secret in its command line and its environment. */
function startVictim(token: string): ChildProcess {
  return spawn("/bin/sh", ["-c", "read -r _", token], { env: { SECRET: token }, stdio: ["pipe", "ignore", "ignore"] });
}

/** Processes of this machine whose command line has the text. */
export function processesWith(text: string): number[] {
  return readdirSync("/proc").flatMap((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text) ? [Number(pid)] : [];
    } catch {
      return []; // it is gone
    }
  });
}
