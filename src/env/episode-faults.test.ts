import { describe, expect, test, vi } from "vitest";
import { Episode } from "./episode.ts";
import { type Definition, forever, make, play, type State, signal, task } from "./fixtures/scripted-episode.ts";

describe("faults of the environment", () => {
  const fail = () => {
    throw new Error("broken pipe");
  };
  const act = () => ({ say: "on" });
  const done = () => ({ done: true });

  test.each<[string, Partial<Definition>]>([
    ["start", { start: fail }],
    ["start, later", { start: async () => fail() }],
    ["act", { act: fail }],
    ["act, later", { act: async () => fail() }],
    ["score", { act: done, score: fail }],
    ["close", { act: done, close: fail }],
    ["remind", { act, remind: fail }],
    ["system", { act, system: fail }],
  ])("an exception in %s", async (_, change) => {
    const played = await play(make(change), ["x"]);
    expect(played).toMatchObject({ stop: "env-crash", failure: expect.stringContaining("broken pipe") });
    expect(played.scores).toEqual({ agent: { total: 0, parts: {}, success: false } });
  });

  test.each<[string, Partial<Definition>]>([
    ["start", { start: forever }],
    ["act", { act: forever }],
    ["score", { act: done, score: forever }],
    ["close", { act: done, close: forever }],
  ])("%s without end", async (_, change) => {
    expect(await play(make(change), ["x"])).toMatchObject({ stop: "env-timeout", scores: { agent: { total: 0 } } });
  });

  test.each<[string, Partial<Definition>]>([
    ["start", { start: forever }],
    ["act", { act: forever }],
    ["score", { act: done, score: forever }],
  ])("cancelled in %s: its signal is aborted", async (name, change) => {
    const controller = new AbortController();
    let seen: AbortSignal | undefined;
    const env = make(change);
    const watched = {
      ...env,
      [name]: (context: { signal: AbortSignal }) => {
        seen = context.signal;
        controller.abort();
        return forever();
      },
    };
    expect(await play(watched, ["x"], controller.signal)).toMatchObject({ stop: "cancelled" });
    expect(seen?.aborted).toBe(true);
  });

  test("cancelled before anything: nothing is opened", async () => {
    const start = vi.fn(() => ({ state: { log: [], closed: 0 }, say: "" }));
    expect(await play(make({ start }), ["x"], AbortSignal.abort())).toMatchObject({ stop: "cancelled", turns: [] });
    expect(start).not.toHaveBeenCalled();
  });

  test.each([
    ["start", { start: () => ({ state: { log: [], closed: 0 }, say: ["a"] }) }],
    ["start", { start: () => ({ state: { log: [], closed: 0 } }) }],
    ["act", { act: () => ({ say: 7 }) }],
    ["act", { act: () => ({ say: { text: "x" } }) }],
  ])("%s that says what is no text", async (_, change) => {
    const played = await play(make(change as unknown as Partial<Definition>), ["x"]);
    expect(played).toMatchObject({ stop: "env-crash", failure: expect.stringMatching(/say.*not a string/) });
  });

  test.each([
    ["start", { start: () => undefined }],
    ["act", { act: () => undefined }],
    ["act", { act: () => "go on" }],
  ])("%s that returns no object", async (name, change) => {
    const played = await play(make(change as unknown as Partial<Definition>), ["x"]);
    expect(played).toMatchObject({ stop: "env-crash", failure: expect.stringContaining(`${name} returned`) });
  });
});

describe("closing", () => {
  const closing = (change: Partial<Definition>) => {
    const close = vi.fn();
    return { close, env: make({ act: () => ({ done: true }), ...change, close }) };
  };
  const fail = () => {
    throw new Error("x");
  };

  test.each<[string, Partial<Definition>]>([
    ["ended by itself", {}],
    ["ran out of turns", { act: () => ({}), limits: { turns: 1 } }],
    ["crashed in act", { act: fail }],
    ["hung in act", { act: forever }],
    ["crashed in score", { score: fail }],
    ["crashed in system", { system: fail }],
  ])("an episode that %s is closed once", async (_, change) => {
    const { close, env } = closing(change);
    await play(env, ["x", "y"]);
    expect(close).toHaveBeenCalledTimes(1);
  });

  test("one that was cancelled is closed, and one that never started is not", async () => {
    const controller = new AbortController();
    const { close, env } = closing({});
    const episode = new Episode(env, task, { signal: controller.signal });
    await episode.start();
    controller.abort();
    expect(await episode.finish({ stop: "completed" })).toMatchObject({ stop: "cancelled" });
    expect(close).toHaveBeenCalledTimes(1);
    const unstarted = closing({ start: fail });
    await play(unstarted.env, []);
    expect(unstarted.close).not.toHaveBeenCalled();
  });

  test("finishing twice, even at once, scores and closes once", async () => {
    const score = vi.fn(async () => 1);
    const { close, env } = closing({ score });
    const episode = new Episode(env, task, { signal });
    await episode.start();
    const end = await episode.step("x");
    if ("role" in end) throw new Error("it should have ended");
    const results = await Promise.all([episode.finish(end), episode.finish(end)]);
    expect(results[0]).toEqual(results[1]);
    expect(await episode.finish({ stop: "max-turns" })).toEqual(results[0]);
    expect([score.mock.calls.length, close.mock.calls.length]).toEqual([1, 1]);
  });

  test("what opens too late is closed when it has opened", async () => {
    const opened = Promise.withResolvers<{ state: State; say: string }>();
    const { close, env } = closing({ start: () => opened.promise });
    expect(await play(env, ["x"])).toMatchObject({ stop: "env-timeout" });
    expect(close).not.toHaveBeenCalled();
    const state = { log: [], closed: 0 };
    opened.resolve({ state, say: "late" });
    await vi.waitFor(() => expect(close).toHaveBeenCalledWith(state));
  });

  test("a failure to close does not hide what went wrong before", async () => {
    const env = make({
      act: () => Promise.reject(new Error("first")),
      close: () => Promise.reject(new Error("second")),
    });
    expect(await play(env, ["x"])).toMatchObject({ stop: "env-crash", failure: expect.stringContaining("first") });
  });
});
