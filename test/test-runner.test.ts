import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { TestModule } from "vitest/node";
import { countTests } from "../scripts/count-reporter.ts";
import { findBrowser } from "../scripts/find-browser.ts";
import { findPython } from "../scripts/find-python.ts";
import { slowLeftOut, slowSuites } from "../scripts/slow-left-out.ts";

describe("findPython", () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "ludus-python-"));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  /** A Python that says which of the wanted packages it does not have. */
  function fakePython(path: string, missing: string): string {
    const python = join(root, path);
    mkdirSync(join(python, ".."), { recursive: true });
    writeFileSync(python, `#!/bin/sh\necho ${missing}\n`);
    chmodSync(python, 0o755);
    return python;
  }

  test("takes .venv when it has the packages", () => {
    expect(findPython(root, undefined)).toEqual({ found: false, chosen: false, reason: "there is no .venv" });
    const python = fakePython(".venv/bin/python", "");
    expect(findPython(root, undefined)).toEqual({ found: true, python });
  });

  test("says which packages are missing", () => {
    const python = fakePython(".venv/bin/python", "torch trl");
    expect(findPython(root, undefined)).toMatchObject({ found: false, reason: `${python} has no torch, trl` });
  });

  test("a chosen Python comes first, and is reported as chosen when it does not run", () => {
    fakePython(".venv/bin/python", "");
    const python = fakePython("mine/python", "");
    expect(findPython(root, python)).toEqual({ found: true, python });
    expect(findPython(root, join(root, "none"))).toMatchObject({ found: false, chosen: true });
  });
});

test("findBrowser takes the chosen one, else the first that is installed", () => {
  expect(findBrowser("/mine", (path) => path === "/mine")).toEqual({ found: true, browser: "/mine" });
  expect(findBrowser("/mine", () => false)).toEqual({ found: false, chosen: true, reason: "/mine is not there" });
  expect(findBrowser(undefined, (path) => path === "/usr/bin/chromium")).toMatchObject({
    browser: "/usr/bin/chromium",
  });
  expect(findBrowser(undefined, () => false)).toMatchObject({ found: false, chosen: false });
});

test("slow suites that lack a variable are named with what makes it, in one line", () => {
  const root = mkdtempSync(join(tmpdir(), "ludus-slow-"));
  const suite = (name: string, text: string) => writeFileSync(join(root, "test", name), text);
  mkdirSync(join(root, "test"));
  suite("browser.slow.test.ts", 'const browser = process.env.LUDUS_BROWSER ?? "";');
  suite("llama.slow.test.ts", "const python = process.env.LUDUS_LLAMA_CPP_PYTHON;");
  suite("long.slow.test.ts", "");
  suite("usual.test.ts", "process.env.LUDUS_AGENTS");
  expect(slowSuites(root)).toHaveLength(3);
  const line = slowLeftOut(root, { LUDUS_BROWSER: "/usr/bin/chromium" });
  expect(line).toMatch(
    /^Left out.*test\/llama\.slow\.test\.ts \(LUDUS_LLAMA_CPP_PYTHON is not set; scripts\/setup-llama-cpp\.sh\)\.$/,
  );
  expect(line).not.toMatch(/browser|long|usual/);
  expect(slowLeftOut(root, { LUDUS_BROWSER: "/x", LUDUS_LLAMA_CPP_PYTHON: "/x" })).toBe("");
  rmSync(root, { recursive: true });
});

describe("countTests", () => {
  /** A test file as vitest hands it to a reporter, with only what is read. */
  function file(states: string[], ok = !states.includes("failed")): TestModule {
    const tests = states.map((state) => ({ result: () => ({ state }) }));
    return { ok: () => ok, children: { allTests: () => tests } } as unknown as TestModule;
  }

  test("counts what passed and failed, not what was skipped", () => {
    const files = [file(["passed", "passed", "skipped"]), file(["passed", "failed"])];
    expect(countTests(files, [])).toEqual({ passed: 3, failed: 1 });
  });

  test("counts a file that did not load, and an error nobody caught, as one failure each", () => {
    expect(countTests([file([], false)], [new Error("uncaught")])).toEqual({ passed: 0, failed: 2 });
  });
});
