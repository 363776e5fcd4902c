import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { CommandLimits } from "./limits.ts";
import { type Box, type BoxSpec, type ExecOptions, type Image, type Sandbox, sandboxLevels } from "./sandbox.ts";

export interface SandboxContractOptions {
  /** What boxes and images leave on this machine or at the provider, by name: folders, containers. Empty when all are gone. */
  leftovers: () => Promise<readonly string[]> | readonly string[];
  /** How many boxes are opened at once; 50 otherwise. */
  boxes?: number;
}

const knownSandboxContractOptions: KnownOptions<SandboxContractOptions> = { leftovers: true, boxes: true };

/** What every sandbox owes: commands need `sh`, `cat`, `sleep` and `yes` in its boxes. */
export function sandboxContract(
  name: string,
  makeSandbox: () => Sandbox | Promise<Sandbox>,
  options: SandboxContractOptions,
): void {
  refuseUnknownOptions("sandboxContract", options, knownSandboxContractOptions);
  const { leftovers, boxes = 50 } = options;
  let sandbox: Sandbox;
  const opened: Box[] = [];
  const images: Image[] = [];
  beforeAll(async () => {
    sandbox = await makeSandbox();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((box) => box.close()));
    await Promise.all(images.splice(0).map((image) => image.remove()));
    expect(await leftovers()).toEqual([]);
  });

  const open = async (spec?: BoxSpec) => {
    const box = await sandbox.open(spec);
    opened.push(box);
    return box;
  };
  const snapshot = async (box: Box) => {
    const image = await box.snapshot();
    images.push(image);
    return image;
  };
  const sh = (box: Box, script: string, options: ExecOptions = {}) =>
    box.exec("sh", { ...options, args: ["-c", script, ...(options.args ?? [])] });
  const text = async (box: Box, path: string) => Buffer.from(await box.read(path)).toString();

  describe(`sandbox ${name}`, () => {
    test("says what it is", () => {
      expect(sandbox.name).toMatch(/^[a-z][a-z0-9-]*$/);
      expect(sandboxLevels).toContain(sandbox.level);
    });

    test("refuses a level above its own, naming both, and opens at its own", async () => {
      await open({ atLeast: sandbox.level });
      const above = sandboxLevels[sandboxLevels.indexOf(sandbox.level) + 1];
      if (above === undefined) return;
      const refusal = new RegExp(`sandbox-too-weak.*"${sandbox.level}".*"${above}"`);
      await expect(sandbox.open({ atLeast: above })).rejects.toThrow(refusal);
    });

    describe("a command", () => {
      test("gives its exit code and output, and reads its input", async () => {
        const ended = await sh(await open(), "cat; echo oh >&2; exit 3", { input: "näh\n" });
        expect(ended).toMatchObject({ kind: "exited", code: 3, stdout: "näh\n", stderr: "oh\n", notApplied: [] });
      });

      test("gets its arguments as they are, and nothing of this program's environment", async () => {
        process.env.LUDUS_CONTRACT_SECRET = "secret";
        try {
          const box = await open({ env: { A: "box", B: "box" } });
          expect((await box.exec("echo", { args: ["$(id)", ";", "*"] })).stdout).toBe("$(id) ; *\n");
          expect((await sh(box, "env")).stdout).not.toContain("secret");
          expect((await sh(box, "echo $A $B", { env: { B: "command" } })).stdout).toBe("box command\n");
        } finally {
          delete process.env.LUDUS_CONTRACT_SECRET;
        }
      });

      test("that a signal ended", async () => {
        expect(await sh(await open(), "kill -TERM $$")).toMatchObject({ kind: "exited", code: 143 });
      });

      test("that does not exist is not started", async () => {
        expect(await (await open()).exec("no-such-command-of-ludus")).toMatchObject({ kind: "not-started" });
      });

      test("that was started may exit with 127, as a shell does for a command it does not find", async () => {
        const box = await open();
        expect(await sh(box, "no-such-command-of-ludus")).toMatchObject({ kind: "exited", code: 127 });
        expect(await sh(box, "exit 126")).toMatchObject({ kind: "exited", code: 126 });
      });

      test("is cut off at the output limit, even in one endless line", async () => {
        const box = await open({ limits: { outputBytes: 5_000 } });
        expect(await sh(box, "yes")).toMatchObject({ kind: "output-limit", stdout: "y\n".repeat(2_500) });
        const line = await sh(box, "yes | tr -d '\\n' >&2", { limits: { outputBytes: 10 } });
        expect(line).toMatchObject({ kind: "output-limit", stderr: "y".repeat(10) });
      });

      test("may print what is no UTF-8", async () => {
        const ended = await sh(await open(), "printf 'a\\377\\0b'");
        expect(ended).toMatchObject({ kind: "exited", stdout: "a\uFFFD\0b" });
      });

      test("is killed at its time limit, with its children", async () => {
        const mark = uniqueSeconds();
        const box = await open();
        const ended = await sh(box, `sleep ${mark} & sh -c 'sleep ${mark} & wait' & echo up; wait`, {
          limits: { timeoutMs: 300 },
        });
        expect(ended).toMatchObject({ kind: "timeout", afterMs: 300, stdout: "up\n" });
        expect(await eventuallyGone(mark)).toEqual([]);
      });

      test("takes its children with it when it ends", async () => {
        const mark = uniqueSeconds();
        expect(await sh(await open(), `sleep ${mark} & echo up`)).toMatchObject({ kind: "exited", stdout: "up\n" });
        expect(await eventuallyGone(mark)).toEqual([]);
      });

      test("is cancelled, before it starts and while it runs", async () => {
        const box = await open();
        const mark = uniqueSeconds();
        const controller = new AbortController();
        const running = sh(box, `sleep ${mark}`, { signal: controller.signal });
        await eventuallyRuns(mark);
        controller.abort();
        expect(await running).toMatchObject({ kind: "cancelled" });
        expect(await eventuallyGone(mark)).toEqual([]);
        expect(await sh(box, "echo no", { signal: controller.signal })).toMatchObject({
          kind: "cancelled",
          stdout: "",
        });
      });

      test("runs beside others of the same box", async () => {
        const box = await open();
        const ended = await Promise.all([1, 2, 3].map((code) => sh(box, `exit ${code}`)));
        expect(ended).toMatchObject([{ code: 1 }, { code: 2 }, { code: 3 }]);
      });

      test("with a limit that is no number, or no limit, is misuse", async () => {
        const box = await open();
        await expect(sh(box, "true", { limits: { timeoutMs: Number.NaN } })).rejects.toThrow("invalid-limit");
        await expect(sandbox.open({ limits: { outputBytes: -1 } })).rejects.toThrow("invalid-limit");
        const misspelt = { timeoutMS: 5 } as Partial<CommandLimits>;
        await expect(sandbox.open({ limits: misspelt })).rejects.toThrow(/unknown-limit.*Did you mean "timeoutMs"/);
      });
    });

    describe("files", () => {
      test("go in and out, as bytes, and commands see them", async () => {
        const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
        const box = await open({ files: { "in/a.txt": "tea\n", "b.bin": bytes } });
        expect(await box.read("b.bin")).toEqual(bytes);
        await box.write("in/c.txt", "rice\n");
        await box.write("in/c.txt", "ice\n");
        const ended = await sh(box, "cat a.txt c.txt; pwd > ../where; mkdir -p new; echo x > new/d.txt", { cwd: "in" });
        expect(ended).toMatchObject({ kind: "exited", code: 0, stdout: "tea\nice\n" });
        expect(await text(box, "in/new/d.txt")).toBe("x\n");
        expect(await text(box, "./in/../in/a.txt")).toBe("tea\n");
        expect(await text(box, "where")).toMatch(/\/in\n$/);
      });

      test("are not shared between boxes", async () => {
        const [one, other] = [await open({ files: { "a.txt": "1" } }), await open()];
        await one.write("b.txt", "2");
        expect((await sh(other, "ls")).stdout).toBe("");
        await expect(other.read("b.txt")).rejects.toThrow("box-file-missing");
      });

      test.each(["../a.txt", "a/../../b.txt", "..", "/etc/passwd", "", "a\0b"])(
        "outside are refused: %j",
        async (path) => {
          const box = await open();
          await expect(box.read(path)).rejects.toThrow("box-path-refused");
          await expect(box.write(path, "x")).rejects.toThrow("box-path-refused");
          await expect(sandbox.open({ files: { [path]: "x" } })).rejects.toThrow("box-path-refused");
          if (path !== "") await expect(sh(box, "pwd", { cwd: path })).rejects.toThrow("box-path-refused");
        },
      );

      test("outside are refused through links too", async () => {
        const box = await open({ files: { "inside/a.txt": "here" } });
        await sh(box, "ln -s /etc out; ln -s /etc/passwd file; ln -s ../.. up; ln -s inside in; ln -s /nowhere/x gone");
        for (const path of ["out/passwd", "file", "up/x", "gone"]) {
          await expect(box.read(path), path).rejects.toThrow("box-path-refused");
          await expect(box.write(path, "x"), path).rejects.toThrow("box-path-refused");
        }
        await expect(sh(box, "pwd", { cwd: "out" })).rejects.toThrow("box-path-refused");
        expect(await text(box, "in/a.txt")).toBe("here");
      });

      test("that are none are refused, and nothing hangs on a pipe", async () => {
        const box = await open();
        await sh(box, "mkdir folder; mkfifo pipe");
        for (const path of ["folder", "pipe", "."])
          await expect(box.read(path), path).rejects.toThrow("box-path-refused");
        await expect(box.write("pipe", "x")).rejects.toThrow("box-path-refused");
        await expect(box.write("folder", "x")).rejects.toThrow("box-path-refused");
        await expect(box.read("missing/a.txt")).rejects.toThrow("box-file-missing");
      });
    });

    describe("a snapshot", () => {
      test("is restored into many boxes, after its own is closed and changed", async () => {
        const box = await open({ files: { "a.txt": "one", "run.sh": "echo ran" } });
        await sh(box, "chmod +x run.sh; mkdir -p deep/er; echo 2 > deep/er/b.txt; ln -s a.txt link; mkfifo pipe");
        const image = await snapshot(box);
        expect(image.sandbox).toBe(sandbox.name);
        await box.write("a.txt", "changed");
        await box.close();
        const [first, second] = [await open({ image }), await open({ image, files: { "a.txt": "over" } })];
        expect(await text(first, "link")).toBe("one");
        expect((await sh(first, "test -x run.sh && cat deep/er/b.txt")).stdout).toBe("2\n");
        await first.write("a.txt", "mine");
        expect(await text(second, "a.txt")).toBe("over");
        expect(await text(await open({ image }), "a.txt")).toBe("one");
      });

      test("is refused while a command runs", async () => {
        const box = await open();
        const mark = uniqueSeconds();
        const running = sh(box, `sleep ${mark}`);
        await eventuallyRuns(mark);
        await expect(box.snapshot()).rejects.toThrow("box-busy");
        await box.close();
        expect(await running).toMatchObject({ kind: "cancelled" });
      });

      test("of another sandbox, or one that was removed, is refused", async () => {
        const image = await snapshot(await open());
        await image.remove();
        await image.remove();
        await expect(sandbox.open({ image })).rejects.toThrow("image-removed");
        const foreign = { sandbox: "elsewhere", id: "1", remove: async () => {} };
        await expect(sandbox.open({ image: foreign })).rejects.toThrow("image-of-another-sandbox");
      });
    });

    describe("closing", () => {
      test("can be done twice, and ends what runs", async () => {
        const box = await open();
        const mark = uniqueSeconds();
        const running = sh(box, `sleep ${mark} & wait`);
        await eventuallyRuns(mark);
        await Promise.all([box.close(), box.close()]);
        await box.close();
        expect(await running).toMatchObject({ kind: "cancelled" });
        expect(await eventuallyGone(mark)).toEqual([]);
        expect(await leftovers()).toEqual([]);
        for (const call of [
          () => sh(box, "true"),
          () => box.read("a"),
          () => box.write("a", ""),
          () => box.snapshot(),
        ]) {
          await expect(call()).rejects.toThrow("box-closed");
        }
      });

      test("works on folders that code has locked", async () => {
        const box = await open();
        await sh(box, "mkdir -p a/b; echo x > a/b/c; chmod 000 a/b a");
        await box.close();
        expect(await leftovers()).toEqual([]);
      });

      test("an aborted signal opens nothing", async () => {
        await expect(sandbox.open({}, AbortSignal.abort(new Error("enough")))).rejects.toThrow("enough");
        const controller = new AbortController();
        const opening = sandbox.open({ files: { a: "x" } }, controller.signal);
        controller.abort(new Error("enough"));
        await expect(opening).rejects.toThrow("enough");
      });
    });

    test(`${boxes} boxes at once do not meet`, async () => {
      const results = await Promise.all(
        Array.from({ length: boxes }, async (_, index) => {
          const box = await open({ files: { n: `${index}` } });
          const ended = await sh(box, "cat n; cat n > out", { limits: { timeoutMs: 60_000 } });
          return [ended.stdout, await text(box, "out")];
        }),
      );
      expect(results).toEqual(Array.from({ length: boxes }, (_, index) => [`${index}`, `${index}`]));
    });
  });
}

let marks = 0;
/** A duration that no other process of this machine sleeps for, so that its sleepers can be found. */
function uniqueSeconds(): string {
  marks += 1;
  return `97.${process.pid}${String(marks).padStart(4, "0")}`;
}

/** Sleepers seen from this machine, which sees those of its containers as well. Where there is no /proc, none are seen. */
function sleepers(mark: string): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, "utf8") === `sleep\0${mark}\0`;
    } catch {
      return false; // it is gone
    }
  });
}

async function eventually(mark: string, isDone: (found: readonly string[]) => boolean): Promise<string[]> {
  for (let tries = 0; tries < 300 && !isDone(sleepers(mark)); tries++) await sleep(10);
  return sleepers(mark);
}

const eventuallyGone = (mark: string) => eventually(mark, (found) => found.length === 0);
const eventuallyRuns = (mark: string) => eventually(mark, (found) => found.length > 0);
