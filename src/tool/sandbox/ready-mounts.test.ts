import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { bubblewrapSandbox } from "./bubblewrap-sandbox.ts";
import type { BoxMount } from "./folder-box.ts";
import { ReadyMounts } from "./ready-mounts.ts";
import { noBubblewrap } from "./testing/bubblewrap-here.ts";

describe("mounts made ahead", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-ready-"));
  let made: BoxMount[] = [];
  let closed = 0;
  const make = async (): Promise<BoxMount> => {
    const files = mkdtempSync(join(folder, "files-"));
    const mount: BoxMount = {
      files,
      root: files,
      temporary: files,
      run: () => Promise.reject(new Error("nothing is run")),
      copyTo: async () => {},
      close: async () => {
        closed += 1;
      },
    };
    made.push(mount);
    return mount;
  };
  beforeEach(() => {
    made = [];
    closed = 0;
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("none before one is taken, then so many, each handed out once", async () => {
    const mounts = new ReadyMounts(make, 2);
    expect(made).toHaveLength(0);
    const first = await mounts.take();
    expect(made).toEqual([first]);
    await vi.advanceTimersByTimeAsync(100);
    expect(mounts.waiting).toBe(2);
    const taken = [await mounts.take(), await mounts.take(), await mounts.take()];
    expect(new Set([first, ...taken]).size).toBe(4);
    await vi.advanceTimersByTimeAsync(100);
    expect(mounts.waiting).toBe(2);
  });

  test("half a minute without anyone ends them, and the next begins anew", async () => {
    const mounts = new ReadyMounts(make, 3);
    await mounts.take();
    await vi.advanceTimersByTimeAsync(31_000);
    expect({ waiting: mounts.waiting, closed }).toEqual({ waiting: 0, closed: 3 });
    await mounts.take();
    await vi.advanceTimersByTimeAsync(100);
    expect(mounts.waiting).toBe(3);
  });

  test("one that something has killed is not handed out", async () => {
    const mounts = new ReadyMounts(make, 1);
    await mounts.take();
    await vi.advanceTimersByTimeAsync(100);
    rmSync(made[1]!.files, { recursive: true });
    expect(await mounts.take()).not.toBe(made[1]);
    expect(closed).toBe(1);
  });

  test("whoever takes one is told why none can be made", async () => {
    let isBroken = false;
    const mounts = new ReadyMounts(() => (isBroken ? Promise.reject(new Error("no memory left")) : make()), 1);
    await mounts.take();
    isBroken = true;
    await vi.advanceTimersByTimeAsync(100);
    await expect(mounts.take()).rejects.toThrow("no memory left");
  });
});

test.skipIf(noBubblewrap !== undefined)(
  "boxes that were ready are empty, and have what they are opened with",
  async () => {
    const sandbox = bubblewrapSandbox({ warm: "python", ready: 2 });
    for (let i = 0; i < 6; i++) {
      const box = await sandbox.open({ files: { [`${i}.txt`]: "here" }, env: { N: `${i}` } });
      const code = "import os; print(os.listdir('.'), os.environ['N']); open('/tmp/left', 'x')";
      expect(await box.exec("python3", { args: ["-c", code] })).toMatchObject({
        stdout: `['${i}.txt'] ${i}\n`,
        code: 0,
      });
      await box.close();
    }
  },
);

test.each([-1, 0.5, 1_001])("refuses ready: %d", (ready) => {
  expect(() => bubblewrapSandbox({ ready })).toThrow("ready");
});
