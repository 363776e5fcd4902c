import { availableParallelism } from "node:os";
import { defineConfig, type TestProjectConfiguration } from "vitest/config";

// unit       needs nothing but this folder
// package    packs, installs and imports the published package
// dashboard  renders the dashboard's pages in happy-dom
// parity     compares with PyTorch, transformers and TRL; LUDUS_PYTHON names the Python that has them
// browser    looks at the dashboard with the Chromium that LUDUS_BROWSER names
// slow       *.slow.test.ts, only with LUDUS_SLOW
// mutation   the unit tests of the folder that LUDUS_MUTATION names, for scripts/mutation.ts
const tests = (pattern: string) => [`src/**/*${pattern}`, `test/**/*${pattern}`];
// recipes import the package by its name
const source = (path: string) => `${import.meta.dirname}/src/${path}`;
const alias = [
  { find: /^ludus$/, replacement: source("index.ts") },
  { find: /^ludus\/ai-sdk$/, replacement: source("server/ai-sdk.ts") },
  { find: /^ludus\/environments$/, replacement: source("env/environments/index.ts") },
  { find: /^ludus\/(\w+)$/, replacement: source("$1/index.ts") },
];
const packageTest = "test/package.test.ts";
const seconds = 1000;

const project = (
  name: string,
  include: string[],
  timeoutSeconds: number,
  exclude: string[] = [],
  more: { setupFiles?: string[]; isolate?: boolean } = {},
): TestProjectConfiguration => {
  const timeoutMs = timeoutSeconds * seconds;
  return {
    resolve: { alias },
    test: { name, include, exclude, testTimeout: timeoutMs, hookTimeout: timeoutMs, ...more },
  };
};

const slow = project("slow", tests(".slow.test.ts"), 900);
const notUnit = [...tests(".slow.test.ts"), ...tests(".parity.test.ts"), ...tests(".browser.test.ts"), packageTest];
// fails or times out on a busy machine, whatever was mutated: it measures time and memory beside a thousand rollouts
const notMutation = [...notUnit, "src/env/attempt/faults.test.ts"];
const unit = project("unit", tests(".test.ts"), 30, notUnit);
const dashboard = project("dashboard", ["dashboard/src/**/*.test.{ts,tsx}"], 30, [], {
  setupFiles: ["dashboard/src/testing/browser.ts"],
});
const packed = project("package", [packageTest], 300);
const parity = project("parity", tests(".parity.test.ts"), 300);
const browser = project("browser", tests(".browser.test.ts"), 120);

function chosenProjects(): TestProjectConfiguration[] {
  if (process.env.LUDUS_SLOW) return [slow];
  const mutated = process.env.LUDUS_MUTATION;
  // not isolated: one worker for each mutant, rather than one for each test file of each mutant
  if (mutated) return [project("mutation", [`${mutated}/**/*.test.ts`], 30, notMutation, { isolate: false })];
  const { LUDUS_PYTHON: python, LUDUS_BROWSER: chromium } = process.env;
  return [unit, dashboard, packed, ...(python ? [parity] : []), ...(chromium ? [browser] : [])];
}

// vitest leaves one core to itself: of two that is half, while many suites wait for Python or a browser
const maxWorkers = Math.max(2, availableParallelism() - 1);

export default defineConfig({ test: { projects: chosenProjects(), maxWorkers } });
