import { spawn } from "node:child_process";
import { errorText, LudusError } from "../../errors.ts";

export interface GitCommit {
  readonly id: string;
  readonly parents: readonly string[];
  readonly subject: string;
  readonly body: string;
}

export interface GitChange {
  /** `A`dded, `D`eleted, `M`odified, or `T`ype changed. */
  readonly status: string;
  readonly path: string;
}

interface GitEntry {
  readonly mode: string;
  readonly object: string;
  readonly path: string;
}

const maxOutputBytes = 256 << 20;
const maxBlobBytes = 1 << 20;
const regularModes = ["100644", "100755"];

/**
 * Reads a repository's history through commands that run no hook, filter, pager or difference program, whatever the repository's own
 * configuration says. Nothing is written to it.
 */
export class GitRepository {
  readonly #path: string;
  readonly #signal: AbortSignal | undefined;

  constructor(path: string, signal?: AbortSignal) {
    this.#path = path;
    this.#signal = signal;
  }

  /** The newest first; merges, which have two parents, are left out. */
  async commits(revision: string, most: number): Promise<GitCommit[]> {
    const format = "--format=%H%x00%P%x00%s%x00%b%x00";
    const range = ["--no-merges", `--max-count=${most}`, "--end-of-options", revision, "--"];
    const fields = (await this.#run(["log", "-z", "--no-show-signature", format, ...range])).toString().split("\0");
    const commits: GitCommit[] = [];
    // four fields and what ends an entry
    for (let i = 0; i + 3 < fields.length; i += 5) {
      const [id, parents, subject, body] = fields.slice(i, i + 4) as [string, string, string, string];
      commits.push({ id: id.trim(), parents: parents.split(" ").filter(Boolean), subject, body: body.trim() });
    }
    return commits;
  }

  async changes(from: string, to: string): Promise<GitChange[]> {
    const fields = (await this.#run(["diff-tree", "-r", "-z", "--no-renames", "--name-status", from, to]))
      .toString()
      .split("\0");
    const changes: GitChange[] = [];
    for (let i = 0; i + 1 < fields.length; i += 2) changes.push({ status: fields[i]!, path: fields[i + 1]! });
    return changes;
  }

  async patch(from: string, to: string, paths: readonly string[]): Promise<string> {
    if (paths.length === 0) return "";
    const plain = ["-p", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/"];
    return (await this.#run(["diff-tree", ...plain, "--dst-prefix=b/", from, to, "--", ...paths])).toString();
  }

  /** Regular files of text, up to a megabyte each. Links, submodules, other bytes and larger files are left out. */
  async textFiles(commit: string, most: number): Promise<Record<string, string> | undefined> {
    const listed = (await this.#run(["ls-tree", "-r", "-z", "--full-tree", commit])).toString().split("\0");
    const entries = listed.filter(Boolean).map(readEntry);
    const regular = entries.filter(({ mode }) => regularModes.includes(mode));
    if (regular.length > most) return undefined;
    const blobs = await this.#blobs(regular.map(({ object }) => object));
    const files: Record<string, string> = {};
    for (const [index, { path }] of regular.entries()) {
      const text = textOf(blobs[index]!);
      if (text !== undefined) files[path] = text;
    }
    return files;
  }

  async #blobs(objects: readonly string[]): Promise<Buffer[]> {
    if (objects.length === 0) return [];
    const output = await this.#run(["cat-file", "--batch"], objects.map((object) => `${object}\n`).join(""));
    const blobs: Buffer[] = [];
    for (let at = 0; blobs.length < objects.length; ) {
      const end = output.indexOf(10, at);
      const size = Number(output.subarray(at, end).toString().split(" ")[2]);
      if (end < 0 || !Number.isInteger(size)) throw this.#unreadable("an object that is missing");
      blobs.push(output.subarray(end + 1, end + 1 + size));
      at = end + 1 + size + 1;
    }
    return blobs;
  }

  async #run(args: readonly string[], input = ""): Promise<Buffer> {
    const fixed = ["--no-pager", "--no-replace-objects", "--no-optional-locks", "--literal-pathspecs"];
    const harmless = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.mailmap=false"];
    const child = spawn("git", [...fixed, ...harmless, "-C", this.#path, ...args], {
      env: { ...process.env, GIT_TERMINAL_PROMPT: "0", GIT_NO_LAZY_FETCH: "1", LC_ALL: "C" },
      stdio: ["pipe", "pipe", "pipe"],
      ...(this.#signal === undefined ? {} : { signal: this.#signal }),
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    let told = "";
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.byteLength;
      if (bytes > maxOutputBytes) child.kill("SIGKILL");
      else chunks.push(chunk);
    });
    child.stderr.on("data", (chunk: Buffer) => {
      if (told.length < 2_000) told += chunk.toString();
    });
    // it may end before it has read everything
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    }).catch((cause) => {
      this.#signal?.throwIfAborted();
      throw this.#unreadable(errorText(cause), cause);
    });
    if (bytes > maxOutputBytes) throw this.#unreadable(`more than ${maxOutputBytes} bytes from git ${args[0]}`);
    if (code !== 0) throw this.#unreadable(told.trim().split("\n")[0] ?? `exit code ${code}`);
    return Buffer.concat(chunks);
  }

  #unreadable(why: string, cause?: unknown): LudusError {
    return new LudusError("bad-repository", {
      got: `${this.#path}: ${why}`,
      expected: "a folder with a git repository, and git on the path",
      cause,
    });
  }
}

function readEntry(line: string): GitEntry {
  const [facts, path] = [line.slice(0, line.indexOf("\t")), line.slice(line.indexOf("\t") + 1)];
  const [mode, , object] = facts.split(" ") as [string, string, string];
  return { mode, object, path };
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.byteLength > maxBlobBytes || bytes.includes(0)) return undefined;
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
