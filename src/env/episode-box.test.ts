import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { tool } from "../tool/define-tool.ts";
import type { Box, Sandbox } from "../tool/sandbox/sandbox.ts";
import type { ToolContext } from "../tool/tool.ts";
import { Episode, type EpisodeResult } from "./episode.ts";
import { call, forever, make, type State, signal, task } from "./fixtures/scripted-episode.ts";

/** Its boxes hold nothing and count what is done to them. */
function countingSandbox(change: { open?: Sandbox["open"]; close?: Box["close"] } = {}) {
  const counts = { opened: 0, closed: 0 };
  const box: Box = {
    exec: async () => ({ kind: "exited", code: 0, stdout: "", stderr: "", notApplied: [] }),
    read: async () => new Uint8Array(),
    write: async () => {},
    snapshot: () => Promise.reject(new Error("no images here")),
    async close() {
      await change.close?.();
      counts.closed += 1;
    },
  };
  const sandbox: Sandbox = {
    name: "counting",
    level: "none",
    async open(spec, opening) {
      counts.opened += 1;
      return (await change.open?.(spec, opening)) ?? box;
    },
  };
  return { counts, sandbox, box };
}

type Run = (context: ToolContext<State>) => unknown;
const useBox: Run = async ({ box }) => (await box()).exec("true").then(({ kind }) => kind);

async function play(sandbox: Sandbox, run: Run, texts: readonly string[], abort = signal): Promise<EpisodeResult> {
  const env = make({
    tools: { run: tool<z.ZodObject, State>({ input: z.object({}), run: (_, context) => run(context) }) },
    score: () => 1,
    limits: { envMs: 200, toolMs: 200 },
  });
  const episode = new Episode(env, task, { signal: abort, sandbox });
  let move = await episode.start();
  for (const text of texts) if ("role" in move) move = await episode.step(text);
  const result = await episode.finish("role" in move ? { stop: "max-turns" } : move);
  expect(await episode.finish({ stop: "completed" })).toBe(result);
  return result;
}

describe("the box of an episode", () => {
  test("is not opened where no tool asks for it", async () => {
    const { counts, sandbox } = countingSandbox();
    expect(await play(sandbox, () => "ok", [call("run"), "done"])).toMatchObject({ stop: "completed" });
    expect(counts).toEqual({ opened: 0, closed: 0 });
  });

  test("is opened once for all calls, and closed with the episode", async () => {
    const { counts, sandbox } = countingSandbox();
    const played = await play(sandbox, useBox, [call("run") + call("run"), call("run"), "done"]);
    expect(played).toMatchObject({ stop: "completed", scores: { agent: { total: 1 } } });
    expect(played.turns.flatMap(({ calls }) => calls)).toMatchObject(Array(3).fill({ observation: "exited" }));
    expect(counts).toEqual({ opened: 1, closed: 1 });
  });

  test.each<[string, string, Run]>([
    ["max-turns", "max-turns", useBox],
    [
      "a crash of the tool",
      "tool-crash",
      async ({ box }) => {
        await box();
        throw new Error("broken");
      },
    ],
    ["a tool that takes too long", "tool-timeout", ({ box }) => box().then(forever)],
  ])("is closed after %s", async (_, stop, run) => {
    const { counts, sandbox } = countingSandbox();
    expect(await play(sandbox, run, [call("run")])).toMatchObject({ stop });
    expect(counts).toEqual({ opened: 1, closed: 1 });
  });

  test("is closed when the rollout is cancelled", async () => {
    const { counts, sandbox } = countingSandbox();
    const controller = new AbortController();
    const run: Run = async ({ box }) => {
      await box();
      controller.abort();
      return forever();
    };
    expect(await play(sandbox, run, [call("run")], controller.signal)).toMatchObject({ stop: "cancelled" });
    expect(counts).toEqual({ opened: 1, closed: 1 });
  });

  test("that cannot be opened ends the episode as the tool's fault, and says why", async () => {
    const { counts, sandbox } = countingSandbox({ open: () => Promise.reject(new Error("no space left on device")) });
    expect(await play(sandbox, useBox, [call("run")])).toMatchObject({
      stop: "tool-crash",
      failure: expect.stringMatching(/tool "run": .*box-not-opened: got no space left.*a box of sandbox "counting"/),
    });
    expect(counts).toEqual({ opened: 1, closed: 0 });
  });

  test("that opens after the episode ended is closed then", async () => {
    const late = Promise.withResolvers<void>();
    let opening: AbortSignal | undefined;
    const { counts, sandbox, box } = countingSandbox({
      open: async (_, given) => {
        opening = given;
        await late.promise;
        return box;
      },
    });
    expect(await play(sandbox, useBox, [call("run")])).toMatchObject({ stop: "tool-timeout" });
    expect(opening?.aborted).toBe(true);
    expect(counts.closed).toBe(0);
    late.resolve();
    await vi.waitFor(() => expect(counts.closed).toBe(1));
  });

  test.each([
    ["throws", () => Promise.reject(new Error("still in use")), /box was not closed: .*still in use/],
    ["never ends", forever, /box was not closed: it took longer than limits.envMs/],
  ])("whose closing %s ends the episode as an infrastructure failure", async (_, close, failure) => {
    const { sandbox } = countingSandbox({ close });
    const played = await play(sandbox, useBox, [call("run"), "done"]);
    expect(played).toMatchObject({ stop: "tool-crash", failure: expect.stringMatching(failure) });
    expect(played.scores.agent.total).toBe(0);
  });
});
