import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFolder } from "../atomic-folder.ts";
import type { Engine, LoadOptions } from "../engine/engine.ts";
import { errorText, LudusError } from "../errors.ts";
import { checkManifest, writeManifest } from "./manifest.ts";

const folderName = (step: number) => `step-${String(step).padStart(6, "0")}`;
const folderPattern = /^step-(\d{6,})$/;
// engines that write beside the name they are given begin theirs with a dot
const leftoverPattern = /^\.?unfinished-/;

/**
 * The checkpoints of a run, one folder for each step that was saved. A folder has its name only while all of it is there, so
 * whatever has a name is whole; what a crash left half-written or half-removed is thrown away at the next save.
 */
export class Checkpoints {
  readonly #directory: string;

  constructor(runDirectory: string) {
    this.#directory = join(runDirectory, "checkpoints");
  }

  /** Steps that were saved, in order. */
  steps(): number[] {
    if (statSync(this.#directory, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
    const found = readdirSync(this.#directory).flatMap((name) => folderPattern.exec(name)?.[1] ?? []);
    return found.map(Number).sort((a, b) => a - b);
  }

  directory(step: number): string {
    return join(this.#directory, folderName(step));
  }

  /** With a `chatTemplate`, that of the training is beside the tokenizer, in place of the tokenizer's own. */
  async save(engine: Pick<Engine, "save">, step: number, chatTemplate?: string): Promise<string> {
    const unfinished = this.#unfinished(step);
    try {
      mkdirSync(this.#directory, { recursive: true });
      this.#clean();
      await engine.save(unfinished);
      // an engine that keeps nothing writes nothing; that it was saved is worth a folder all the same
      mkdirSync(unfinished, { recursive: true });
      if (chatTemplate !== undefined && existsSync(join(unfinished, "tokenizer.json")))
        writeFileSync(join(unfinished, "chat_template.jinja"), chatTemplate, { flush: true });
      writeManifest(unfinished);
      replaceFolder(unfinished, this.directory(step));
    } catch (error) {
      throw this.#notSaved(error, step);
    }
    return this.directory(step);
  }

  /** Puts the weights of a step into the engine. A damaged folder is an error: which older step to go back to is for people to say. */
  async load(engine: Pick<Engine, "load">, step: number, options: LoadOptions = {}): Promise<void> {
    const directory = this.directory(step);
    try {
      checkManifest(directory);
      await engine.load(directory, options);
    } catch (error) {
      // made for another model: the folder is as it should be
      if (error instanceof LudusError && error.code === "other-model") throw error;
      const previous = this.steps().findLast((other) => other < step);
      throw new LudusError("checkpoint-damaged", {
        got: `${directory}: ${messageOf(error)}`,
        expected: "a checkpoint as it was written",
        hint:
          previous === undefined
            ? "There is no older one. Remove the folder to begin anew, or restore it from a copy."
            : `Remove the folder to resume from the previous one, ${this.directory(previous)}, or restore it from a copy.`,
        cause: error,
      });
    }
  }

  /** What is wrong with the files of a step, in words; undefined where they are as they were written. */
  problem(step: number, what: "bytes" | "sizes" = "bytes"): string | undefined {
    try {
      checkManifest(this.directory(step), what);
      return undefined;
    } catch (error) {
      return messageOf(error);
    }
  }

  /** Forgets all but the newest `count` and those that `isKept` names. */
  retain(count: number, isKept: (step: number) => boolean = () => false): void {
    for (const step of this.steps().slice(0, -count)) if (!isKept(step)) this.#discard(step);
  }

  #unfinished(step: number): string {
    return join(this.#directory, `unfinished-${folderName(step)}`);
  }

  /** Its name goes first: a folder that is half removed must not pass for a checkpoint. */
  #discard(step: number): void {
    if (!existsSync(this.directory(step))) return;
    const nameless = join(this.#directory, `unfinished-removal-of-${folderName(step)}`);
    rmSync(nameless, { recursive: true, force: true });
    renameSync(this.directory(step), nameless);
    rmSync(nameless, { recursive: true, force: true });
  }

  #clean(): void {
    for (const name of readdirSync(this.#directory)) {
      if (leftoverPattern.test(name)) rmSync(join(this.#directory, name), { recursive: true, force: true });
    }
  }

  #notSaved(error: unknown, step: number): unknown {
    const isOfDisk = error instanceof Error && "syscall" in error;
    if (!isOfDisk && !(error instanceof LudusError && error.code === "checkpoint-not-written")) return error;
    try {
      // half a checkpoint must not keep a full disk full
      rmSync(this.#unfinished(step), { recursive: true, force: true });
    } catch {
      // the disk is in no state to obey; the error below is the one to see
    }
    const last = this.steps().at(-1);
    return new LudusError("checkpoint-not-saved", {
      got: messageOf(error),
      expected: `room and permission to write in ${this.#directory}`,
      hint: `Make room, then start the run again: it resumes from ${last === undefined ? "the beginning" : this.directory(last)}.`,
      cause: error,
    });
  }
}

function messageOf(error: unknown): string {
  if (error instanceof LudusError) return `${error.code}: ${error.details.got}`;
  return errorText(error);
}
