import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type E2bBox, e2bSandbox } from "./e2b-sandbox.ts";

const root = mkdtempSync(join(tmpdir(), "ludus-e2b-"));
afterAll(() => rmSync(root, { recursive: true }));

/** Stands in for a rented machine: a shell of this machine, with the errors that the client throws. */
function standIn() {
  const killed: string[] = [];
  let made = 0;
  const machine: E2bBox = {
    commands: {
      run: (command, { cwd, envs = {}, timeoutMs = 60_000 }) =>
        new Promise((resolve, reject) => {
          const child = spawn("sh", ["-c", command], { cwd, env: { PATH: "/usr/bin:/bin", ...envs }, detached: true });
          let [stdout, stderr] = ["", ""];
          child.stdout.on("data", (chunk) => (stdout += chunk));
          child.stderr.on("data", (chunk) => (stderr += chunk));
          const timer = setTimeout(() => {
            process.kill(-child.pid!, "SIGKILL");
            reject(Object.assign(new Error("took too long"), { name: "TimeoutError" }));
          }, timeoutMs);
          child.once("error", reject);
          child.once("close", (exitCode) => {
            clearTimeout(timer);
            const said = { exitCode: exitCode ?? 137, stdout, stderr };
            if (said.exitCode === 0) resolve(said);
            else reject(Object.assign(new Error(`exit status ${exitCode}`), said));
          });
        }),
    },
    files: {
      read: async (path) => new Uint8Array(readFileSync(path)),
      write: async (path, content) => {
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, new Uint8Array(content));
      },
    },
    kill: async () => killed.push("killed"),
  };
  const asked: object[] = [];
  const create = async (options: object) => {
    asked.push(options);
    return machine;
  };
  const folder = () => join(root, `box-${killed.length}-${made++}`);
  return {
    sandbox: e2bSandbox({ create, folder: folder(), template: "mine", apiKey: "k" }),
    killed,
    asked,
    folder,
    create,
  };
}

test("commands run with arguments, input, variables and a folder, and tell how they ended", async () => {
  const { sandbox, asked } = standIn();
  const box = await sandbox.open({ files: { "a/b.txt": "it's" }, env: { ONE: "1" } });
  expect(asked).toEqual([{ template: "mine", apiKey: "k", timeoutMs: 3_600_000 }]);
  const said = await box.exec("sh", {
    args: ["-c", 'cat; echo "$ONE $TWO $0"; cat b.txt', "a b'c"],
    input: "in\n",
    cwd: "a",
    env: { TWO: "2" },
  });
  expect(said).toEqual({ kind: "exited", code: 0, stdout: "in\n1 2 a b'c\nit's", stderr: "", notApplied: [] });
  expect(await box.exec("sh", { args: ["-c", "echo no >&2; exit 3"] })).toMatchObject({ code: 3, stderr: "no\n" });
  expect(await box.exec("no-such-command")).toMatchObject({ kind: "exited", code: 127 });
  expect(await box.exec("sleep", { args: ["9"], limits: { timeoutMs: 100 } })).toMatchObject({ kind: "timeout" });
  const flood = await box.exec("seq", { args: ["1000"], limits: { outputBytes: 4, memoryMb: 10 } });
  expect(flood).toMatchObject({ kind: "output-limit", stdout: "1\n2\n", notApplied: [{ limit: "memoryMb" }] });
  await box.close();
});

test("files are read and written inside the box alone", async () => {
  const { create, folder } = standIn();
  const at = folder();
  const box = await e2bSandbox({ create, folder: at }).open();
  await box.write("x/y.bin", new Uint8Array([0, 255]));
  expect([...(await box.read("x/y.bin"))]).toEqual([0, 255]);
  for (const path of ["../x", "/etc/passwd", "", "a/../../x"]) {
    await expect(box.read(path)).rejects.toMatchObject({ code: "box-path-refused" });
    await expect(box.write(path, "")).rejects.toMatchObject({ code: "box-path-refused" });
  }
  await expect(box.read("missing")).rejects.toMatchObject({ code: "box-file-missing" });
  symlinkSync("/etc/passwd", join(at, "link"));
  await expect(box.read("link")).rejects.toMatchObject({ code: "box-file-missing" });
  await box.close();
});

test("a snapshot begins another box, until it is removed", async () => {
  const { create, folder } = standIn();
  const first = await e2bSandbox({ create, folder: folder() }).open({ files: { a: "1" } });
  const image = await first.snapshot();
  const again = e2bSandbox({ create, folder: folder() });
  const second = await again.open({ image, files: { b: "2" } });
  expect((await second.exec("cat", { args: ["a", "b"] })).stdout).toBe("12");
  await image.remove();
  await expect(again.open({ image })).rejects.toMatchObject({ code: "image-of-another-sandbox" });
  await expect(again.open({ image: { ...image, sandbox: "other" } })).rejects.toThrow('of sandbox "other"');
});

test("a closed box ends what runs, and takes nothing more; a level it has not is refused", async () => {
  const { sandbox, killed } = standIn();
  const box = await sandbox.open({ atLeast: "virtual-machine" });
  const running = box.exec("sleep", { args: ["2"], limits: { timeoutMs: 300 } });
  await expect(box.snapshot()).rejects.toMatchObject({ code: "box-busy" });
  await box.close();
  await box.close();
  expect(killed).toEqual(["killed"]);
  expect(await running).toMatchObject({ kind: "cancelled" });
  await expect(box.exec("true")).rejects.toMatchObject({ code: "box-closed" });
});

test("a machine whose files cannot be written is given back; the package is asked for by name", async () => {
  const { create, killed, folder } = standIn();
  const full = e2bSandbox({
    folder: folder(),
    create: async (options) => {
      const machine = await create(options);
      return { ...machine, files: { ...machine.files, write: () => Promise.reject(new Error("disk full")) } };
    },
  });
  await expect(full.open({ files: { a: "1" } })).rejects.toThrow("disk full");
  expect(killed).toEqual(["killed"]);
  await expect(e2bSandbox().open()).rejects.toThrow("npm install e2b");
  expect(() => e2bSandbox({ apikey: "k" } as never)).toThrow('did you mean "apiKey"?');
});
