import { posix } from "node:path";
import { cutText } from "../../cut-text.ts";
import { LudusError } from "../../errors.ts";
import type { KnownOptions } from "../../known-options.ts";
import { describeEnd } from "../sandbox/describe-end.ts";
import type { Box, Ended } from "../sandbox/sandbox.ts";
import { type ToolContext, ToolError } from "../tool.ts";
import { diffText } from "./edit-text.ts";

/** What a tool did, for environments that follow it. */
export type CodeEvent =
  | { readonly kind: "viewed"; readonly path: string }
  /** `text` is what the file holds now; `path` is without `.` and `..`. */
  | { readonly kind: "edited"; readonly path: string; readonly text: string }
  /** Whether the command of the tests exited with 0. */
  | { readonly kind: "tested"; readonly passed: boolean }
  /** Files may be different from what was told by `edited`. */
  | { readonly kind: "shell" };

export interface TestsCommand {
  readonly command: string;
  readonly args?: readonly string[];
}

export interface CodeToolsOptions<State> {
  /** What the episode's box begins with, by path. */
  files: (state: State) => Readonly<Record<string, string | Uint8Array>>;
  /** The program that runs the tests, in the box's root: it exits with 0 where they pass. */
  tests: TestsCommand | ((state: State) => TestsCommand);
  /** One command of `bash`, `search` or the tests; 90 seconds, as in R2E-Gym, if left out. */
  stepMs?: number;
  /** Called after each call that did something, with the box that it was done in. */
  note?: (state: State, event: CodeEvent, box: Box) => void;
}

export const knownCodeToolsOptions: KnownOptions<CodeToolsOptions<never>> = {
  files: true,
  tests: true,
  stepMs: true,
  note: true,
};

export const defaultStepMs = 90_000;
/** Opening the box, and what a tool does around its command. */
export const aroundStepMs = 30_000;

const maxOutputChars = 20_000;
const maxTextBytes = 1 << 20;

/** The same in every episode: no files beside those that were written, and one order of hash tables. */
const boxEnv = { PYTHONDONTWRITEBYTECODE: "1", PYTHONHASHSEED: "0" };

/** An episode's files and commands, with the policy's mistakes told as `ToolError`. */
export class Workspace<State> {
  readonly box: Box;
  readonly #context: ToolContext<State>;
  readonly #options: CodeToolsOptions<State>;

  private constructor(box: Box, context: ToolContext<State>, options: CodeToolsOptions<State>) {
    this.box = box;
    this.#context = context;
    this.#options = options;
  }

  static async open<State>(context: ToolContext<State>, options: CodeToolsOptions<State>): Promise<Workspace<State>> {
    const box = await context.box({ files: options.files(context.state), env: boxEnv });
    return new Workspace(box, context, options);
  }

  /** The command of the tests, in this episode. */
  get tests(): TestsCommand {
    const { tests } = this.#options;
    return typeof tests === "function" ? tests(this.#context.state) : tests;
  }

  note(event: CodeEvent): void {
    this.#options.note?.(this.#context.state, event, this.box);
  }

  /** Runs a command to its own end; any other end is told to the policy. */
  async run(what: string, command: string, args: readonly string[]): Promise<Ended & { kind: "exited" }> {
    const { stepMs = defaultStepMs } = this.#options;
    const { signal } = this.#context;
    const ended = await this.box.exec(command, { args, limits: { timeoutMs: stepMs }, signal });
    if (ended.kind === "exited") return ended;
    // neither is the policy's doing
    if (ended.kind === "not-started" || ended.kind === "cancelled") {
      throw new LudusError("command-not-run", {
        got: `${command} ${describeEnd(ended)}`,
        expected: "a box that has it",
      });
    }
    throw new ToolError([`${what} ${describeEnd(ended)} and was ended.`, printed(ended)].filter(Boolean).join("\n"));
  }

  async readText(path: string): Promise<string> {
    const bytes = await this.read(path);
    if (bytes === undefined) throw new ToolError(`There is no file ${path}.`);
    if (bytes.length > maxTextBytes) throw new ToolError(`${path} is too large: ${bytes.length} bytes.`);
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    } catch {
      throw new ToolError(`${path} is not text.`);
    }
  }

  /** Undefined where there is no file. */
  async read(path: string): Promise<Uint8Array | undefined> {
    try {
      return await this.box.read(posix.normalize(path));
    } catch (error) {
      if (error instanceof LudusError && error.code === "box-file-missing") return undefined;
      throw toldError(path, error);
    }
  }

  async writeText(path: string, text: string): Promise<void> {
    const before = await this.readText(path).catch(() => undefined);
    if (Buffer.byteLength(text) > maxTextBytes) throw new ToolError(`The text for ${path} is too large.`);
    try {
      await this.box.write(posix.normalize(path), text);
    } catch (error) {
      throw toldError(path, error);
    }
    this.#context.info?.({ diff: diffText(posix.normalize(path), before ?? "", text) });
    this.note({ kind: "edited", path: posix.normalize(path), text });
  }

  /** For whoever looks at the episode: the result of a call is the tests' output. */
  tested(passed: boolean): void {
    this.#context.info?.({ tests: passed ? "passed" : "failed" });
    this.note({ kind: "tested", passed });
  }
}

/** What a command printed, without space around it. */
export function printed({ stdout, stderr }: Pick<Ended, "stdout" | "stderr">): string {
  const text = [stdout.trimEnd(), stderr.trim()].filter((part) => part !== "").join("\n");
  return cutText(text, maxOutputChars);
}

/** A path that leaves the box, a folder, a full disk: the policy's doing. Everything else stays what it is. */
function toldError(path: string, error: unknown): unknown {
  if (error instanceof LudusError && ["box-path-refused", "box-file-too-large"].includes(error.code)) {
    return new ToolError(`${error.details.got} cannot be used: give ${error.details.expected}.`);
  }
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOSPC" || code === "EDQUOT") return new ToolError(`There is no space left for ${path}.`);
  return error;
}
