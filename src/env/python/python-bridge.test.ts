import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import type { Env } from "../env.ts";
import { Episode } from "../episode.ts";
import { PythonBridge } from "./python-bridge.ts";
import { bridgedEnv, type PythonLibrary, pythonLibraries } from "./python-env.ts";

// the bridge itself, in a Python that has stand-ins for the libraries
process.env.PYTHONPATH = fileURLToPath(new URL("fixtures/packages", import.meta.url));
const hasPython = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).status === 0;
const { signal } = new AbortController();
let bridge: PythonBridge | undefined;
afterEach(() => {
  bridge?.close();
  bridge = undefined;
});

function open(limits = {}, from: PythonLibrary = "textarena", name = "Guess-v0"): Env {
  bridge ??= new PythonBridge("python3");
  return bridgedEnv({ from, name, limits }, bridge) as Env;
}

async function play(env: Env, texts: readonly string[], seed = 5) {
  const episode = new Episode(env, { id: "t", seed, data: { seed } }, { signal });
  const heard: string[] = [];
  let next = await episode.start();
  for (const text of texts) {
    if (!("role" in next)) break;
    heard.push(next.messages[0]!.content);
    next = await episode.step(text);
  }
  return { ...(await episode.finish("role" in next ? { stop: "max-turns" } : next)), heard };
}

const threadsOf = (pid: number) => readdirSync(`/proc/${pid}/task`).length;

describe.skipIf(!hasPython)("textarena", () => {
  test.each(["hang", "sleep"])("a step that does not end (%s) costs its own episode only", async (how) => {
    // started before, as that takes a while
    await play(open(), ["end"]);
    const beside = open({ envMs: 4_000 });
    const [hung, ...others] = await Promise.all([
      play(open({ envMs: 500 }), [how]),
      ...Array.from({ length: 8 }, (_, seed) => play(beside, ["a", "b", "end"], seed)),
    ]);
    expect(hung.stop).toBe("env-timeout");
    expect(others.map(({ stop }) => stop)).toEqual(Array.from({ length: 8 }, () => "completed"));
    expect(await play(beside, ["a", "end"])).toMatchObject({ stop: "completed" });
  });

  test.skipIf(process.platform !== "linux")("a step that was given up does not go on", async () => {
    await play(open(), ["end"]);
    const pid = bridge!.process().pid!;
    await play(open({ envMs: 300 }), ["hang"]);
    await expect.poll(() => threadsOf(pid)).toBe(1);
  });

  test("draws of an episode are those of its seed, whatever is played beside it", async () => {
    const alone = await play(open(), ["a", "b", "end"], 3);
    const together = await Promise.all(Array.from({ length: 6 }, (_, seed) => play(open(), ["a", "b", "end"], seed)));
    expect(together[3]!.heard).toEqual(alone.heard);
    expect(new Set(together.map(({ heard }) => heard.join())).size).toBe(6);
  });
});

test.skipIf(!hasPython).each(pythonLibraries)("a Python without %s: the package to install is named", async (from) => {
  const path = join(mkdtempSync(join(tmpdir(), "ludus-python-")), "python");
  writeFileSync(path, '#!/bin/sh\nexec python3 -S -E "$@"\n', { mode: 0o755 });
  bridge = new PythonBridge(path);
  const { stop, failure } = await play(open({}, from), ["a"]);
  expect([stop, failure]).toEqual(["env-crash", expect.stringMatching(`python-packages.*pip install ${from}`)]);
});
