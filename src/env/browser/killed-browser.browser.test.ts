import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { Episode } from "../episode.ts";
import { browserEnv } from "./browser-env.ts";

const { signal } = new AbortController();

/** Undefined where the process has ended meanwhile. */
function ofRunning<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && "code" in error && ["ENOENT", "ESRCH"].includes(String(error.code))) return undefined;
    throw error;
  }
}

function childrenOf(pid: number): number[] {
  const threads = ofRunning(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const own = threads.flatMap((thread) =>
    (ofRunning(() => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8")) ?? "")
      .split(" ")
      .filter((word) => word !== "")
      .map(Number),
  );
  return [...own, ...own.flatMap(childrenOf)];
}

/** Browsers that this process started, the first one first: their own processes, not those of their pages or of a script that starts them. */
function browsers(): number[] {
  const isBrowser = (pid: number) => {
    const command = ofRunning(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")) ?? "";
    const isScript = /(?:^|sh)$/.test(ofRunning(() => readlinkSync(`/proc/${pid}/exe`)) ?? "");
    return command.includes("--remote-debugging-pipe") && !command.includes("--type=") && !isScript;
  };
  return childrenOf(process.pid)
    .filter(isBrowser)
    .sort((one, other) => one - other);
}

test("a browser that is killed costs its own episodes, and the next ones have another", async () => {
  const env = browserEnv({ pages: "chromium", chromium: { browsers: 2 }, actionMs: 10_000, levels: [2, 3] });
  const begin = async (index: number) => {
    const episode = new Episode(env, await env.tasks.at("train", index), { signal });
    return { episode, next: await episode.start() };
  };
  const play = async ({ episode, next }: Awaited<ReturnType<typeof begin>>) => {
    let following = next;
    while ("role" in following) following = await episode.step(episode.expertSays() ?? "");
    const { stop, scores, failure } = await episode.finish(following);
    return { stop, success: scores.agent?.success ?? false, failure };
  };
  const begun = [];
  for (let index = 0; index < 4; index++) begun.push(await begin(index));
  const [first, ...others] = browsers();
  expect(others).toHaveLength(1);
  process.kill(first, "SIGKILL");
  const ended = await Promise.all(begun.map(play));
  // episodes are given to the browsers in turn
  const own = { stop: "tool-crash", success: false, failure: expect.stringContaining("page") };
  const fine = { stop: "completed", success: true, failure: undefined };
  expect(ended).toEqual([own, fine, own, fine]);
  const later = await Promise.all([4, 5, 6, 7].map(async (index) => play(await begin(index))));
  expect(later).toEqual([fine, fine, fine, fine]);
  expect(browsers()).toHaveLength(2);
});
