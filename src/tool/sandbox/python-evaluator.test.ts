import { describe, expect, test } from "vitest";
import { processSandbox } from "./process-sandbox.ts";
import { pythonEvaluator } from "./python-evaluator.ts";
import type { Sandbox } from "./sandbox.ts";
import { noBubblewrap } from "./testing/bubblewrap-here.ts";

const sandbox = noBubblewrap === undefined ? {} : { sandbox: processSandbox() };

describe("an evaluator of Python", () => {
  test("tells values, errors, code that is none, and loops, each on its own", async () => {
    const { evaluate } = pythonEvaluator({ ...sandbox, limits: { testMs: 300 } });
    const results = await Promise.all([
      evaluate("def f(x): return x * 2", "[f(1), f(2)]"),
      evaluate("def f(x): return 1 // x", "f(0)"),
      evaluate("def f(x: return", "f(0)"),
      evaluate("while True: pass", "1"),
      evaluate("import os; os._exit(0)", "1"),
      evaluate("", "f(1)"),
    ]);
    expect(results.map(({ kind }) => kind)).toEqual(["value", "threw", "not-compiled", "timeout", "threw", "threw"]);
    expect(results[0]).toEqual({ kind: "value", value: [2, 4] });
  });

  test("a program that ends all others costs them nothing", async () => {
    const { evaluate } = pythonEvaluator(sandbox);
    const kill = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nimport time; time.sleep(9)";
    const results = await Promise.all([evaluate("x = 1", "x"), evaluate(kill, "1"), evaluate("x = 3", "x")]);
    expect(results[0]).toEqual({ kind: "value", value: 1 });
    expect(results[1]!.kind).toBe("threw");
    expect(results[2]).toEqual({ kind: "value", value: 3 });
  });

  test("what is asked for at once shares a box", async () => {
    const inner = sandbox.sandbox ?? processSandbox();
    let opened = 0;
    const counting: Sandbox = {
      ...inner,
      open: (...given) => {
        opened += 1;
        return inner.open(...given);
      },
    };
    const { evaluate } = pythonEvaluator({ sandbox: counting, batch: 10 });
    const values = await Promise.all(Array.from({ length: 20 }, (_, i) => evaluate(`x = ${i}`, "x + 1")));
    expect(values).toEqual(Array.from({ length: 20 }, (_, i) => ({ kind: "value", value: i + 1 })));
    expect(opened).toBe(2);
  });

  test("a box that cannot be had, an abort and a misspelt option are told", async () => {
    const broken: Sandbox = { name: "broken", level: "none", open: () => Promise.reject(new Error("no box")) };
    await expect(pythonEvaluator({ sandbox: broken }).evaluate("", "1")).rejects.toThrow("no box");
    await expect(pythonEvaluator(sandbox).evaluate("", "1", AbortSignal.abort())).rejects.toThrow(/abort/i);
    expect(() => pythonEvaluator({ batches: 1 } as never)).toThrow('did you mean "batch"?');
    expect(() => pythonEvaluator({ batch: 0 })).toThrow("bad-option");
  });
});
