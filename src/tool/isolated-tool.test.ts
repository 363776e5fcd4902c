import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { callTool } from "./call-tool.ts";
import { tool } from "./define-tool.ts";
import { fakeContext } from "./fake-context.ts";
import { toolContract } from "./tool.contract.ts";

const isolated = {
  module: new URL("./fixtures/isolated-run.ts", import.meta.url),
  limits: { heapMb: 48, outputBytes: 1 << 16 },
  pool: 1,
};
const input = z.object({ act: z.string() });
const limits = { toolMs: 3_000, observationChars: 1_000 };
const observing = tool({ input, isolated, whenKilled: "observe" });
const stopping = tool({ input, isolated });
afterAll(async () => {
  await Promise.all([observing.isolated!.close(), stopping.isolated!.close()]);
});

const call = (act: string, given: Partial<typeof limits> = {}, signal?: AbortSignal) => {
  const context = fakeContext(undefined, signal);
  const asked = (name: string) => ({ name, arguments: { act } });
  const tools = { observing, stopping };
  return Promise.all([
    callTool(tools, asked("observing"), context, { ...limits, ...given }),
    callTool(tools, asked("stopping"), context, { ...limits, ...given }),
  ]);
};

toolContract("run where it can be killed", () => observing, {
  state: () => undefined,
  right: { act: "return" },
  wrong: [
    [{ act: 4 }, /act.*expected string/],
    [{ act: "refuse" }, "the code does not parse"],
  ],
});

describe("a call that runs elsewhere", () => {
  test("returns", async () => {
    const record = { outcome: "ok", observation: '{"sum":3}' };
    expect(await call("return")).toMatchObject([{ record }, { record }]);
  });

  test("tells the policy of a ToolError", async () => {
    const record = { outcome: "error", observation: "Error: the code does not parse" };
    expect(await call("refuse")).toMatchObject([{ record }, { record }]);
  });

  test("is broken when it throws anything else, whatever a kill would mean", async () => {
    const stop = {
      kind: "stopped",
      stop: "tool-crash",
      failure: expect.stringMatching(/RangeError: too deep\n\s+at /),
    };
    expect(await call("throw")).toMatchObject([stop, stop]);
  });

  test.each([
    ["loop", { toolMs: 100 }, "tool-timeout", "it took longer than 100 ms"],
    ["exit", {}, "tool-crash", "it exited with code 7"],
    ["fill", {}, "tool-crash", "it needed more than 48 MB of memory"],
    ["flood", {}, "tool-crash", "it printed or returned too much, "],
  ])("and was killed (%s) is the policy's doing or the tool's, as the tool says", async (act, given, stop, why) => {
    const [told, stopped] = await call(act, given);
    const observation = expect.stringContaining(`Error: the call was ended: ${why}`);
    expect(told).toMatchObject({ kind: "observed", record: { outcome: "error", observation } });
    expect(stopped).toMatchObject({
      kind: "stopped",
      stop,
      failure: expect.stringContaining(`tool "stopping": ${why}`),
    });
  });

  test("is cancelled with the rollout", async () => {
    const controller = new AbortController();
    const pending = call("loop", {}, controller.signal);
    controller.abort();
    expect(await pending).toMatchObject([{ stop: "cancelled" }, { stop: "cancelled" }]);
  });

  test("of a module without such a function is broken", async () => {
    const missing = tool({ input, isolated: { ...isolated, export: "walk" }, whenKilled: "observe" });
    const result = await callTool(
      { missing },
      { name: "missing", arguments: { act: "" } },
      fakeContext(undefined),
      limits,
    );
    await missing.isolated!.close();
    expect(result).toMatchObject({ stop: "tool-crash", failure: expect.stringMatching(/cannot be used.*walk/) });
  });
});
