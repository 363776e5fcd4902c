import { mkdir, mkdtemp, realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type BoxFiles, boxFiles, copyFolder, removeAtExit, removeFolder } from "./box-files.ts";
import { commandLimits } from "./limits.ts";
import { requireLevel } from "./require-level.ts";
import { defaultProcessEnv, type ProcessRequest } from "./run-process.ts";
import type { Box, BoxSpec, Ended, ExecOptions, Image, Sandbox } from "./sandbox.ts";

/** A command of a box, with paths as it sees them. */
export interface FolderCommand extends ProcessRequest {
  /** The box's files; `cwd` is this folder or one below it. */
  readonly root: string;
  /** For temporary files, beside `root`; removed with the box and no part of its images. */
  readonly temporary: string;
}

/** Runs one command; it and its children are gone when this resolves. */
type RunCommand = (command: FolderCommand, signal: AbortSignal) => Promise<Ended>;

/** What differs between sandboxes whose boxes are folders of this machine. */
export type FolderBoxHost = Pick<Sandbox, "name" | "level"> & {
  /** Where the folders of boxes and images are made. */
  readonly folder: string;
} & (
    | {
        /** `runProcess`, after a wrapper has been put before the command. */
        readonly run: RunCommand;
      }
    | {
        /** For files in a file system of the box's own. `makeHome` makes an empty folder, `image` is one to begin with, which must not change. */
        readonly mount: (makeHome: MakeHome, image: string | undefined) => Promise<BoxMount>;
      }
  );

/** An empty folder that is removed with the box. */
type MakeHome = () => Promise<string>;

/** The files of a box, and commands that see them. */
export interface BoxMount {
  /** Where this program reaches the files. */
  readonly files: string;
  /** Where commands do, and where their temporary files are. */
  readonly root: string;
  readonly temporary: string;
  readonly owner?: { readonly uid: number; readonly gid: number };
  readonly run: RunCommand;
  /** Copies all files to a folder that does not exist. */
  copyTo(folder: string): Promise<void>;
  close(): Promise<void>;
}

/** Opens a box whose files are a folder of this machine. Everything that a `Sandbox` owes, save for running commands, is done here. */
export async function openFolderBox(host: FolderBoxHost, spec: BoxSpec = {}, signal?: AbortSignal): Promise<Box> {
  requireLevel(host, spec.atLeast);
  commandLimits(spec.limits);
  const image = imageOf(host.name, spec.image);
  signal?.throwIfAborted();
  const release = image?.hold() ?? (async () => {});
  const cleanUp: (() => Promise<void>)[] = [release];
  const close = async () => {
    for (const step of cleanUp.reverse()) await step();
  };
  try {
    const makeHome = async () => {
      const home = await makeFolder(host.folder, "ludus-box-");
      cleanUp.push(home.remove);
      return home.path;
    };
    const mount = await ("mount" in host ? host.mount : plainMount(host.run))(makeHome, image?.files);
    cleanUp.push(() => mount.close());
    const files = boxFiles(mount.files, { inside: mount.root, ...defined({ owner: mount.owner }) });
    for (const [path, content] of Object.entries(spec.files ?? {})) await files.write(path, content);
    signal?.throwIfAborted();
    return new FolderBox(host, { ...mount, close }, files, spec);
  } catch (error) {
    await close();
    throw error;
  }
}

function plainMount(run: RunCommand): (makeHome: MakeHome, image: string | undefined) => Promise<BoxMount> {
  return async (makeHome, image) => {
    const home = await makeHome();
    const [files, temporary] = [join(home, "files"), join(home, "tmp")];
    if (image === undefined) await mkdir(files);
    else await copyFolder(image, files);
    await mkdir(temporary);
    return { files, root: files, temporary, run, copyTo: (folder) => copyFolder(files, folder), close: async () => {} };
  };
}

class FolderBox implements Box {
  readonly #mount: BoxMount;
  readonly #files: BoxFiles;
  readonly #spec: BoxSpec;
  readonly #host: FolderBoxHost;
  readonly #running = new Set<Promise<Ended>>();
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  constructor(host: FolderBoxHost, mount: BoxMount, files: BoxFiles, spec: BoxSpec) {
    this.#host = host;
    this.#mount = mount;
    this.#files = files;
    this.#spec = spec;
  }

  async exec(command: string, options: ExecOptions = {}): Promise<Ended> {
    this.#checkOpen();
    const running = this.#exec(command, options);
    this.#running.add(running);
    try {
      return await running;
    } finally {
      this.#running.delete(running);
    }
  }

  async #exec(command: string, { args, input, cwd = ".", env, limits, signal }: ExecOptions): Promise<Ended> {
    const { root, temporary } = this.#mount;
    const request: FolderCommand = {
      root,
      temporary,
      command,
      cwd: await this.#files.folder(cwd),
      env: { ...defaultProcessEnv, HOME: root, TMPDIR: temporary, ...this.#spec.env, ...env },
      limits: { ...this.#spec.limits, ...limits },
      ...defined({ args, input }),
    };
    // not `AbortSignal.any`: a signal that lives as long as the run would collect one listener for each command
    const stop = new AbortController();
    const onAbort = () => stop.abort();
    const signals = [this.#closing.signal, ...(signal === undefined ? [] : [signal])];
    for (const each of signals) each.addEventListener("abort", onAbort, { once: true });
    if (signals.some((each) => each.aborted)) stop.abort();
    try {
      return await this.#mount.run(request, stop.signal);
    } finally {
      for (const each of signals) each.removeEventListener("abort", onAbort);
    }
  }

  async read(path: string): Promise<Uint8Array> {
    this.#checkOpen();
    return await this.#files.read(path);
  }

  async write(path: string, content: string | Uint8Array): Promise<void> {
    this.#checkOpen();
    await this.#files.write(path, content);
  }

  async snapshot(): Promise<Image> {
    this.#checkOpen();
    if (this.#running.size > 0) {
      throw new LudusError("box-busy", {
        got: `a snapshot while ${this.#running.size} commands run`,
        expected: "a box in which nothing runs",
        hint: "Await every `exec` first.",
      });
    }
    const image = await makeFolder(this.#host.folder, "ludus-image-");
    try {
      await this.#mount.copyTo(join(image.path, "files"));
    } catch (error) {
      await image.remove();
      throw error;
    }
    return new FolderImage(this.#host.name, image);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
    await this.#mount.close();
  }

  #checkOpen(): void {
    if (this.#closed === undefined) return;
    throw new LudusError("box-closed", { got: "a call", expected: "an open box", hint: "Open another one." });
  }
}

class FolderImage implements Image {
  readonly sandbox: string;
  readonly id: string;
  readonly #folder: TemporaryFolder;
  #isRemoved = false;
  /** Boxes that lie over it: its files stay until they are closed. */
  #held = 0;

  constructor(sandbox: string, folder: TemporaryFolder) {
    this.sandbox = sandbox;
    this.id = basename(folder.path);
    this.#folder = folder;
  }

  get files(): string {
    return join(this.#folder.path, "files");
  }

  checkThere(): void {
    if (!this.#isRemoved) return;
    throw new LudusError("image-removed", { got: `image ${this.id}`, expected: "one that was not removed" });
  }

  /** Returns what lets go of it. */
  hold(): () => Promise<void> {
    this.#held += 1;
    return async () => {
      this.#held -= 1;
      if (this.#isRemoved && this.#held === 0) await this.#folder.remove();
    };
  }

  async remove(): Promise<void> {
    this.#isRemoved = true;
    if (this.#held === 0) await this.#folder.remove();
  }
}

function imageOf(name: string, image: Image | undefined): FolderImage | undefined {
  if (image === undefined) return undefined;
  if (image instanceof FolderImage && image.sandbox === name) {
    image.checkThere();
    return image;
  }
  throw new LudusError("image-of-another-sandbox", {
    got: `image ${image.id} of sandbox "${image.sandbox}"`,
    expected: `an image that sandbox "${name}" made in this program`,
  });
}

interface TemporaryFolder {
  readonly path: string;
  remove(): Promise<void>;
}

async function makeFolder(parent: string, prefix: string): Promise<TemporaryFolder> {
  const path = await realpath(await mkdtemp(join(parent, prefix)));
  const forget = removeAtExit(path);
  const remove = async () => {
    await removeFolder(path);
    forget();
  };
  return { path, remove };
}
