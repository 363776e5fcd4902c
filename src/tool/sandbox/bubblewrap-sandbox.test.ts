import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { whyNotWith } from "./bubblewrap-available.ts";
import { type BubblewrapSandboxOptions, bubblewrapSandbox } from "./bubblewrap-sandbox.ts";
import type { CommandLimits } from "./limits.ts";
import { sandboxContract } from "./sandbox.contract.ts";
import type { Box } from "./sandbox.ts";
import { noBubblewrap } from "./testing/bubblewrap-here.ts";

const withBox = async (use: (box: Box) => Promise<void>, options: BubblewrapSandboxOptions = {}) => {
  const box = await bubblewrapSandbox(options).open();
  try {
    await use(box);
  } finally {
    await box.close();
  }
};
const sh = (box: Box, script: string, limits: Partial<CommandLimits> = {}) =>
  box.exec("sh", { args: ["-c", script], limits });

describe.skipIf(noBubblewrap !== undefined)("bubblewrap", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-bubblewrap-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  sandboxContract("bubblewrap", () => bubblewrapSandbox({ folder }), { leftovers: () => readdirSync(folder) });

  test("files of a box end at its size, for commands and for this program, and nowhere else can be written", () =>
    withBox(
      async (box) => {
        const full = await sh(
          box,
          "head -c 9000000 /dev/zero > big; echo $?; echo x > /usr/x || echo x > /etc/x || echo x > /x",
        );
        expect(full).toMatchObject({ kind: "exited", stdout: "1\n" });
        expect(full.stderr).toMatch(/No space left.*Read-only/s);
        await expect(box.write("more", new Uint8Array(8 << 20))).rejects.toThrow("ENOSPC");
      },
      { diskMb: 8 },
    ));

  test("memory is limited over all processes together", () =>
    withBox(async (box) => {
      const half = "python3 -c 'a = bytearray(80 << 20); import time; time.sleep(3)'";
      const ended = await sh(box, `${half} & ${half} & wait`, { memoryMb: 120, timeoutMs: 20_000 });
      expect(ended).toMatchObject({ kind: "out-of-memory", limitMb: 120 });
      expect(await sh(box, "echo on")).toMatchObject({ kind: "exited", stdout: "on\n" });
    }));

  test("processes are counted per box", () =>
    withBox(async (box) => {
      const many = "i=0; while [ $i -lt 60 ]; do sleep 9 & i=$((i+1)); done; echo done";
      const [few, enough] = await Promise.all([sh(box, many, { processes: 20 }), sh(box, many, { processes: 100 })]);
      expect(few.stdout).toBe("");
      expect(enough.stdout).toBe("done\n");
    }));

  test("a command has no rights, no descriptors of this program and a user of its own", () =>
    withBox(async (box) => {
      const { stdout } = await sh(
        box,
        "id -u; id -un; grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status; hostname",
      );
      expect(stdout).toBe("1000\nbox\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\nbox\n");
      const open = await sh(
        box,
        "ls /proc/self/fd | sort -n | tail -n +5 | while read -r fd; do readlink /proc/self/fd/$fd; done | grep -v -x /dev/null",
      );
      expect(open.stdout).toBe("");
    }));

  test("what is shown of this machine can be read and not written", () =>
    withBox(
      async (box) => {
        const ended = await sh(box, "ls /opt/shown | head -1; touch /opt/shown/x");
        expect(ended.stdout).toBe("README.md\n");
        expect(ended.stderr).toContain("Read-only");
      },
      { readable: { "/opt/shown": import.meta.dirname } },
    ));

  test("an image lies under the boxes made of it until the last is closed", async () => {
    const sandbox = bubblewrapSandbox({ folder });
    const first = await sandbox.open({ files: { a: "one" } });
    const image = await first.snapshot();
    await first.close();
    const [second, third] = [await sandbox.open({ image }), await sandbox.open({ image })];
    await image.remove();
    await sh(second, "echo two > a");
    expect(await sh(third, "cat a")).toMatchObject({ stdout: "one" });
    await Promise.all([second.close(), third.close()]);
    expect(readdirSync(folder)).toEqual([]);
  });
});

test("where bubblewrap cannot be had, the package is named", async () => {
  expect(await whyNotWith("/nowhere")).toMatch(/^(no program `bwrap` \(package bubblewrap\)|\w+, where there is no)/);
});

test.each<[BubblewrapSandboxOptions, string]>([
  [{ diskMb: 0 }, "invalid-limit"],
  [{ limits: { memoryMb: Number.NaN } }, "invalid-limit"],
  [{ readable: { "/tmp/x": "/usr" } }, "path-not-readable"],
  [{ readable: { "/opt/../box": "/usr" } }, "path-not-readable"],
  [{ readable: { "/opt/x": "/nowhere" } }, "path-not-readable"],
])("misuse is refused: %j", (options, code) => {
  expect(() => bubblewrapSandbox(options)).toThrow(code);
});
