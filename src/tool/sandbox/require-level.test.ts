import { expect, test } from "vitest";
import { processSandbox } from "./process-sandbox.ts";
import { isAtLeast, requireLevel, sandboxInfo } from "./require-level.ts";
import { type SandboxLevel, sandboxLevels } from "./sandbox.ts";

test("levels are ordered", () => {
  for (const [i, level] of sandboxLevels.entries()) {
    for (const [j, other] of sandboxLevels.entries()) expect(isAtLeast(level, other)).toBe(i >= j);
  }
});

test("a sandbox that is strong enough is returned", () => {
  const sandbox = processSandbox();
  expect(requireLevel(sandbox, "process")).toBe(sandbox);
  expect(requireLevel(sandbox)).toBe(sandbox);
});

test("one that is not is refused with both levels and what to install", () => {
  expect(() => requireLevel(processSandbox(), "namespace")).toThrow(
    /^sandbox-too-weak: got sandbox "process" of level "process", expected level "namespace" or stronger\. Install bubblewrap/,
  );
});

test("a level that does not exist is not taken for the weakest", () => {
  const misspelt = "namespaces" as SandboxLevel;
  expect(() => requireLevel(processSandbox(), misspelt)).toThrow(
    /unknown-sandbox-level.*"namespaces".*virtual-machine/,
  );
});

test("what a run records is data", () => {
  expect(JSON.stringify(sandboxInfo(processSandbox()))).toBe('{"name":"process","level":"process"}');
});
