import { randomUUID } from "node:crypto";
import { chmod, chown, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { copyFolder } from "./box-files.ts";
import { findCommand } from "./find-command.ts";
import { type BoxMount, type FolderCommand, openFolderBox } from "./folder-box.ts";
import { type CommandLimits, commandLimits, type LimitNotApplied } from "./limits.ts";
import { runProcess } from "./run-process.ts";
import type { Ended, Sandbox } from "./sandbox.ts";

export interface ContainerSandboxOptions {
  /** `docker`, `podman`, or the path of a program that takes their arguments; `docker` by default. */
  program?: string;
  /** The image of every box, or with `rootfs` a folder that holds its root (podman). It needs `sh`. */
  image?: string;
  rootfs?: string;
  /** Before `run`, such as `["--runtime", "runc"]`. */
  programArgs?: readonly string[];
  /** Of `run`, beside those that make the boundary. */
  runArgs?: readonly string[];
  /** Where the folders of boxes and images are made; the system's folder for temporary files, otherwise. */
  folder?: string;
  /** Who runs commands, and owns files that are written. */
  uid?: number;
}

const knownContainerSandboxOptions: KnownOptions<ContainerSandboxOptions> = {
  program: true,
  image: true,
  rootfs: true,
  programArgs: true,
  runArgs: true,
  folder: true,
  uid: true,
};

const [root, temporary] = ["/box", "/tmp"];
const boundary = [
  ...["--rm", "--interactive", "--init", "--network", "none", "--read-only", "--cap-drop", "all"],
  ...["--security-opt", "no-new-privileges", "--ulimit", "nofile=1024:1024", "--ulimit", "core=0:0"],
  // the default of podman is above what a launcher without all rights may set
  ...["--ulimit", "nproc=1000:1000"],
];
const clientEnv = { PATH: process.env.PATH ?? "/usr/bin:/bin", HOME: process.env.HOME ?? "/" };

/**
 * A container for every command, through the command line of Docker or podman. Files are a folder of this machine, whose size nothing
 * limits. Slower to start than bubblewrap; for code that needs an image.
 */
export function containerSandbox(options: ContainerSandboxOptions): Sandbox {
  refuseUnknownOptions("containerSandbox", options, knownContainerSandboxOptions);
  const { program = "docker", folder = tmpdir(), uid = process.getuid?.() || 64_987 } = options;
  const what = source(options);
  const [name, level] = ["container", "namespace"] as const;
  const mount = async (makeHome: () => Promise<string>, image: string | undefined): Promise<BoxMount> => {
    const home = await makeHome();
    const [files, tmp] = [join(home, "files"), join(home, "tmp")];
    if (image === undefined) await mkdir(files);
    else await copyFolder(image, files);
    await mkdir(tmp);
    await chmod(home, 0o711);
    const owner = process.getuid?.() === 0 ? { uid, gid: uid } : undefined;
    if (owner !== undefined) for (const path of [files, tmp]) await chown(path, uid, uid);
    const volumes = ["--volume", `${files}:${root}`, "--volume", `${tmp}:${temporary}`, "--user", `${uid}:${uid}`];
    const before = [...(options.programArgs ?? []), "run", ...boundary, ...volumes, ...(options.runArgs ?? [])];
    return {
      files,
      root,
      temporary,
      ...(owner !== undefined && { owner }),
      run: (command, signal) =>
        runInContainer(command, { program, programArgs: options.programArgs ?? [], before, what }, signal),
      copyTo: (to) => copyFolder(files, to),
      close: async () => {},
    };
  };
  return {
    name,
    level,
    async open(spec, signal) {
      if ((await findCommand(program, clientEnv.PATH, "/")) === undefined) {
        const hint = `Install it (\`apt-get install podman runc catatonit\`, or Docker), or pass \`program\`.`;
        throw new LudusError("no-container-program", {
          got: `no program \`${program}\``,
          expected: "docker or podman",
          hint,
        });
      }
      return await openFolderBox({ name, level, folder, mount }, spec, signal);
    },
  };
}

function source({ image, rootfs }: ContainerSandboxOptions): readonly string[] {
  if (image !== undefined && rootfs === undefined) return [image];
  if (rootfs !== undefined && image === undefined) return ["--rootfs", rootfs];
  throw new LudusError("no-container-image", { got: "both or neither", expected: "an `image`, or a `rootfs`" });
}

interface Client {
  readonly program: string;
  readonly programArgs: readonly string[];
  readonly before: readonly string[];
  readonly what: readonly string[];
}

async function runInContainer(request: FolderCommand, client: Client, signal: AbortSignal): Promise<Ended> {
  const { command, args = [], input = "", cwd = root, env = {} } = request;
  const limits = commandLimits(request.limits);
  const [container, nonce] = [`ludus-${randomUUID()}`, randomUUID()];
  const [found, missing] = [`found ${nonce}\n`, `missing ${nonce}\n`];
  // the text of this script is gone when the command runs: it cannot say by itself that it was not found
  const find = `if command -v -- "$0" > /dev/null 2>&1; then echo found ${nonce} >&2; exec "$0" "$@"; else echo missing ${nonce} >&2; fi`;
  const { flags, notApplied } = limitFlags(limits);
  const variables = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
  const named = ["--name", container, "--workdir", cwd, ...flags, ...variables];
  // podman takes a root as an option, Docker an image as the first word
  const ended = await runProcess(
    {
      command: client.program,
      args: [...client.before, ...named, ...client.what, "sh", "-c", find, command, ...args],
      input,
      env: clientEnv,
      cwd: "/",
      limits: { timeoutMs: limits.timeoutMs, outputBytes: limits.outputBytes + found.length },
    },
    signal,
  );
  if (ended.kind !== "exited") await remove(client, container);
  if (ended.stderr.startsWith(found) || ended.kind !== "exited") {
    // the first line of stderr may come after what was printed since
    const stdout = cutBytes(ended.stdout, limits.outputBytes);
    const said = ended.stderr.startsWith(found) ? ended.stderr.slice(found.length) : ended.stderr;
    return { ...ended, stdout, stderr: cutBytes(said, limits.outputBytes - Buffer.byteLength(stdout)), notApplied };
  }
  const isMissing = ended.stderr === missing;
  const message = isMissing ? `${command} was not found` : ended.stderr.trim().slice(0, 500);
  return {
    kind: "not-started",
    name: isMissing ? "ENOENT" : "ECONTAINER",
    message,
    stdout: "",
    stderr: "",
    notApplied,
  };
}

function cutBytes(text: string, bytes: number): string {
  return Buffer.byteLength(text) <= bytes ? text : Buffer.from(text).subarray(0, Math.max(0, bytes)).toString();
}

/** Ending the client does not end what it started. */
async function remove({ program, programArgs }: Client, container: string): Promise<void> {
  for (let tries = 0; tries < 3; tries++) {
    const args = [...programArgs, "rm", "--force", "--time", "0", container];
    const ended = await runProcess({ command: program, args, env: clientEnv, cwd: "/", limits: { timeoutMs: 30_000 } });
    if (ended.kind === "exited" && ended.code === 0) return;
  }
}

function limitFlags({ memoryMb, processes, cpuSeconds, fileMb, addressSpaceMb }: CommandLimits): {
  flags: readonly string[];
  notApplied: readonly LimitNotApplied[];
} {
  const flags: string[] = [];
  if (memoryMb !== undefined) flags.push("--memory", `${Math.ceil(memoryMb)}m`);
  if (processes !== undefined) flags.push("--pids-limit", `${processes}`);
  if (cpuSeconds !== undefined) flags.push("--ulimit", `cpu=${Math.ceil(cpuSeconds)}:${Math.ceil(cpuSeconds)}`);
  if (fileMb !== undefined)
    flags.push("--ulimit", `fsize=${Math.ceil(fileMb * 2 ** 20)}:${Math.ceil(fileMb * 2 ** 20)}`);
  const reason = "containers have no limit of address space";
  return { flags, notApplied: addressSpaceMb === undefined ? [] : [{ limit: "addressSpaceMb", reason }] };
}
