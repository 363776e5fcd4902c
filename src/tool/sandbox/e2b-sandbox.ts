import { posix } from "node:path";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { type CommandLimits, commandLimits, type LimitNotApplied, maxReadBytes } from "./limits.ts";
import { requireLevel } from "./require-level.ts";
import type { Box, BoxSpec, End, Ended, ExecOptions, Image, Sandbox } from "./sandbox.ts";

/** What is used of a sandbox of the package `e2b`. */
export interface E2bBox {
  readonly commands: {
    run(
      command: string,
      options: { cwd?: string; envs?: Record<string, string>; timeoutMs?: number },
    ): Promise<{ exitCode: number; stdout: string; stderr: string }>;
  };
  readonly files: {
    read(path: string, options: { format: "bytes" }): Promise<Uint8Array>;
    write(path: string, content: ArrayBuffer): Promise<unknown>;
  };
  kill(): Promise<unknown>;
}

export interface E2bSandboxOptions {
  /** `E2B_API_KEY` of the environment if left out. */
  apiKey?: string;
  /** The template that boxes are made from; E2B's own if left out. */
  template?: string;
  /** How long a box may live, in milliseconds; an hour by default. */
  lifeMs?: number;
  /** The folder of the box's files; `/home/user/box` by default. */
  folder?: string;
  /** Makes a box, in place of the package `e2b`. */
  create?: (options: { template?: string; apiKey?: string; timeoutMs: number }) => Promise<E2bBox>;
}

const knownE2bOptions: KnownOptions<E2bSandboxOptions> = {
  apiKey: true,
  template: true,
  lifeMs: true,
  folder: true,
  create: true,
};

const name = "e2b";
const level = "virtual-machine";

/**
 * Boxes of E2B, virtual machines that are rented by the minute. Needs the package `e2b` and a key. Written after the package's documentation and tested
 * with a stand-in: it has not been tried on the service. A command that is cancelled goes on there until its time limit or the box's end.
 */
export function e2bSandbox(options: E2bSandboxOptions = {}): Sandbox {
  refuseUnknownOptions("e2bSandbox", options, knownE2bOptions);
  const { lifeMs = 3_600_000, folder = "/home/user/box", create = createWithPackage, apiKey, template } = options;
  return {
    name,
    level,
    async open(spec = {}, signal) {
      requireLevel({ name, level }, spec.atLeast);
      commandLimits(spec.limits);
      signal?.throwIfAborted();
      const image = imageOf(spec.image);
      const chosen = { ...(apiKey !== undefined && { apiKey }), ...(template !== undefined && { template }) };
      const machine = await create({ ...chosen, timeoutMs: lifeMs });
      const box = new RentedBox(machine, folder, spec);
      try {
        await box.begin(image, spec.files ?? {});
        signal?.throwIfAborted();
      } catch (error) {
        await box.close();
        throw error;
      }
      return box;
    },
  };
}

async function createWithPackage(options: { template?: string; apiKey?: string; timeoutMs: number }): Promise<E2bBox> {
  const packageName = "e2b"; // a name the compiler does not look for: the package is optional
  const loaded: unknown = await import(packageName).catch((cause: unknown) => {
    throw new LudusError("package-missing", {
      got: "no package e2b",
      expected: "the client of E2B",
      hint: "Install it: npm install e2b",
      cause,
    });
  });
  const { Sandbox: Rented } = loaded as {
    Sandbox: { create(...given: unknown[]): Promise<E2bBox> };
  };
  const { template, ...rest } = options;
  return await (template === undefined ? Rented.create(rest) : Rented.create(template, rest));
}

class RentedBox implements Box {
  readonly #machine: E2bBox;
  readonly #folder: string;
  readonly #spec: BoxSpec;
  readonly #closing = new AbortController();
  #running = 0;
  #closed: Promise<void> | undefined;

  constructor(machine: E2bBox, folder: string, spec: BoxSpec) {
    this.#machine = machine;
    this.#folder = folder;
    this.#spec = spec;
  }

  async begin(image: Uint8Array | undefined, files: NonNullable<BoxSpec["files"]>): Promise<void> {
    await this.#machine.commands.run(`mkdir -p ${quoted(this.#folder)}`, {});
    if (image !== undefined) {
      await this.#machine.files.write(archive, toBuffer(image));
      await this.#machine.commands.run(`tar -C ${quoted(this.#folder)} -xf ${archive} && rm ${archive}`, {});
    }
    for (const [path, content] of Object.entries(files)) await this.write(path, content);
  }

  async exec(command: string, options: ExecOptions = {}): Promise<Ended> {
    this.#checkOpen();
    const limits = commandLimits({ ...this.#spec.limits, ...options.limits });
    const cwd = this.#inside(options.cwd ?? ".");
    const signal = AbortSignal.any([this.#closing.signal, ...(options.signal === undefined ? [] : [options.signal])]);
    const notApplied = limitsNotApplied(limits);
    const cancelled: Ended = { kind: "cancelled", stdout: "", stderr: "", notApplied };
    if (signal.aborted) return cancelled;
    this.#running += 1;
    const stopped = new Promise<Ended>((resolve) => {
      signal.addEventListener("abort", () => resolve(cancelled), { once: true });
    });
    try {
      return await Promise.race([this.#run(command, { ...options, cwd }, limits, notApplied), stopped]);
    } finally {
      this.#running -= 1;
    }
  }

  async #run(
    command: string,
    { args = [], cwd = "", env = {}, input }: ExecOptions,
    limits: CommandLimits,
    notApplied: readonly LimitNotApplied[],
  ): Promise<Ended> {
    if (input !== undefined) await this.#machine.files.write(given, toBuffer(toBytes(input)));
    const line = `${[command, ...args].map(quoted).join(" ")} < ${input === undefined ? "/dev/null" : given}`;
    const envs = { ...this.#spec.env, ...env };
    const { timeoutMs, outputBytes } = limits;
    const cut = (said: { stdout: string; stderr: string }) => {
      const bytes = Buffer.byteLength(said.stdout) + Buffer.byteLength(said.stderr);
      const stdout = Buffer.from(said.stdout).subarray(0, outputBytes).toString();
      const room = Math.max(0, outputBytes - Buffer.byteLength(said.stdout));
      return { bytes, stdout, stderr: Buffer.from(said.stderr).subarray(0, room).toString() };
    };
    const ended = (end: End, said: { stdout: string; stderr: string }): Ended => {
      const { bytes, ...printed } = cut(said);
      const isFlood = bytes > outputBytes;
      return { ...(isFlood ? { kind: "output-limit" as const, bytes } : end), ...printed, notApplied };
    };
    try {
      const said = await this.#machine.commands.run(line, { cwd, envs, timeoutMs });
      return ended({ kind: "exited", code: said.exitCode }, said);
    } catch (error) {
      // the client throws for a status other than 0, and for a limit of time
      const failed = readFailure(error);
      if (failed === undefined) throw error;
      return failed.kind === "timeout"
        ? ended({ kind: "timeout", afterMs: timeoutMs }, failed)
        : ended({ kind: "exited", code: failed.code }, failed);
    }
  }

  async read(path: string): Promise<Uint8Array> {
    this.#checkOpen();
    const at = this.#inside(path);
    // a link would lead out of the folder, and the client follows it
    const check = `test -f ${quoted(at)} && test "$(realpath ${quoted(at)})" = ${quoted(at)} && stat -c %s ${quoted(at)}`;
    const { exitCode, stdout } = await this.#quietly(check);
    if (exitCode !== 0) {
      throw new LudusError("box-file-missing", { got: JSON.stringify(path), expected: "a regular file of the box" });
    }
    if (Number(stdout) > maxReadBytes) {
      throw new LudusError("box-file-too-large", {
        got: `${JSON.stringify(path)} of ${stdout.trim()} bytes`,
        expected: `${maxReadBytes} bytes at most`,
      });
    }
    return await this.#machine.files.read(at, { format: "bytes" });
  }

  async write(path: string, content: string | Uint8Array): Promise<void> {
    this.#checkOpen();
    await this.#machine.files.write(this.#inside(path), toBuffer(toBytes(content)));
  }

  async snapshot(): Promise<Image> {
    this.#checkOpen();
    if (this.#running > 0) {
      throw new LudusError("box-busy", { got: "a running command", expected: "a box in which nothing runs" });
    }
    await this.#machine.commands.run(`tar -C ${quoted(this.#folder)} -cf ${archive} .`, {});
    const bytes = await this.#machine.files.read(archive, { format: "bytes" });
    return new KeptImage(bytes);
  }

  close(): Promise<void> {
    this.#closing.abort();
    this.#closed ??= this.#machine.kill().then(() => {});
    return this.#closed;
  }

  async #quietly(command: string): Promise<{ exitCode: number; stdout: string }> {
    try {
      return await this.#machine.commands.run(command, {});
    } catch (error) {
      const failed = readFailure(error);
      if (failed === undefined || failed.kind === "timeout") throw error;
      return { exitCode: failed.code, stdout: failed.stdout };
    }
  }

  #inside(path: string): string {
    const normal = posix.normalize(path);
    if (path === "" || path.includes("\0") || posix.isAbsolute(path) || normal === ".." || normal.startsWith("../")) {
      throw new LudusError("box-path-refused", {
        got: JSON.stringify(path),
        expected: "the path of a file below the box's root",
      });
    }
    return posix.join(this.#folder, normal);
  }

  #checkOpen(): void {
    if (this.#closed === undefined) return;
    throw new LudusError("box-closed", { got: "a call", expected: "an open box", hint: "Open another one." });
  }
}

const [archive, given] = ["/tmp/ludus-image.tar", "/tmp/ludus-input"];
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
const toBytes = (content: string | Uint8Array) => (typeof content === "string" ? Buffer.from(content) : content);
const toBuffer = (bytes: Uint8Array) => new Uint8Array(bytes).buffer as ArrayBuffer;

let images = 0;

/** A copy of the files, in this program's memory. */
class KeptImage implements Image {
  readonly sandbox = name;
  readonly id = `${++images}`;
  bytes: Uint8Array | undefined;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  remove(): Promise<void> {
    this.bytes = undefined;
    return Promise.resolve();
  }
}

function imageOf(image: Image | undefined): Uint8Array | undefined {
  if (image === undefined) return undefined;
  if (image instanceof KeptImage && image.bytes !== undefined) return image.bytes;
  throw new LudusError("image-of-another-sandbox", {
    got: `image ${image.id} of sandbox "${image.sandbox}"`,
    expected: `an image that sandbox "${name}" made in this program, and that was not removed`,
  });
}

function limitsNotApplied({ timeoutMs: _, outputBytes: __, ...others }: CommandLimits): LimitNotApplied[] {
  const asked = Object.keys(others) as LimitNotApplied["limit"][];
  return asked.map((limit) => ({ limit, reason: "E2B limits the machine, not a command" }));
}

type Failure = { stdout: string; stderr: string } & ({ kind: "exited"; code: number } | { kind: "timeout" });

function readFailure(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined;
  const { exitCode, stdout = "", stderr = "" } = error as { exitCode?: unknown; stdout?: string; stderr?: string };
  if (typeof exitCode === "number") return { kind: "exited", code: exitCode, stdout, stderr };
  return error.name === "TimeoutError" ? { kind: "timeout", stdout, stderr } : undefined;
}
