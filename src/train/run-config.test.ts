import { describe, expect, test } from "vitest";
import { checkConfigChange, configVersion, differences, type RunConfig, toJson } from "./run-config.ts";
import { cosine } from "./schedule.ts";

const config: RunConfig = {
  configVersion,
  env: { name: "letters", description: "one", roles: ["agent"], limits: { turns: 2 } },
  policy: { parameters: 100, vocabularySize: 8, policyVersion: 3 },
  algorithm: { name: "grpo", groupSize: 8, optimizer: { learningRate: 1e-3 }, options: { clip: 0.2 } },
  tasksPerStep: 16,
  seed: 0,
  steps: 10,
};
const changed = (...path: string[]) => {
  const copy = structuredClone(config) as Record<string, never>;
  let at: Record<string, unknown> = copy;
  for (const name of path.slice(0, -1)) at = at[name] as Record<string, unknown>;
  at[path[path.length - 1]] = "other";
  return copy as RunConfig;
};

describe("a run that is resumed", () => {
  test("with the same configuration has no changes", () => {
    expect(checkConfigChange(config, structuredClone(config), [])).toEqual([]);
  });

  test.each([
    [["steps"]],
    [["budget"]],
    [["eval"]],
    [["save"]],
    [["policy", "policyVersion"]],
    [["env", "description"]],
  ])("may have another %s", (path) => {
    expect(checkConfigChange(config, changed(...path), [])).toEqual([]);
  });

  test.each([[["env", "name"]], [["seed"]], [["algorithm", "name"]], [["policy", "parameters"]], [["warmStart"]]])(
    "can never have another %s",
    (path) => {
      const given = changed(...path);
      expect(() => checkConfigChange(config, given, [path.join(".")])).toThrow(/other-run: got a folder with a run of/);
    },
  );

  test("with another learning rate names both values and how to accept it", () => {
    const given = structuredClone(config) as { algorithm: { optimizer: { learningRate: number } } } & RunConfig;
    given.algorithm.optimizer.learningRate = 5e-3;
    expect(() => checkConfigChange(config, given, [])).toThrow(
      "changed-config: got a run with algorithm.optimizer.learningRate 0.001, resumed with algorithm.optimizer.learningRate 0.005, " +
        "expected the configuration that the run was stored with. To resume with the new values: --accept " +
        'algorithm.optimizer.learningRate, or accept: ["algorithm.optimizer.learningRate"] in the configuration.',
    );
    const change = { path: "algorithm.optimizer.learningRate", stored: 1e-3, given: 5e-3 };
    for (const name of ["algorithm.optimizer.learningRate", "algorithm.optimizer", "algorithm", "learningRate"]) {
      expect(checkConfigChange(config, given, [name])).toEqual([change]);
    }
    for (const name of ["Rate", "algorithm.opt", "options"]) {
      expect(() => checkConfigChange(config, given, [name])).toThrow("changed-config");
    }
  });

  test("names every setting that nobody accepted, and none that was", () => {
    const given = { ...changed("tasksPerStep"), algorithm: { name: "grpo", groupSize: 4 } };
    expect(() => checkConfigChange(config, given, ["tasksPerStep"])).toThrow(
      /--accept algorithm\.groupSize,algorithm\.optimizer,algorithm\.options,/,
    );
  });

  test("of an earlier version is compared by what that version stored", () => {
    const { configVersion: _version, tasksPerStep: _tasks, ...earlier } = config;
    expect(checkConfigChange(earlier, config, [])).toEqual([]);
    expect(() => checkConfigChange(earlier, changed("algorithm", "groupSize"), [])).toThrow("changed-config");
  });

  test.each([undefined, null, 3, []])("without a stored configuration (%s) is refused with a way out", (stored) => {
    expect(() => checkConfigChange(stored, config, [])).toThrow(/run-incomplete.*remove them to begin anew/);
  });
});

test("differences are found at any depth, and arrays are compared whole", () => {
  const before = { a: { b: 1, c: [1, 2] }, d: true };
  expect(differences(before, { a: { b: 2, c: [1, 2] }, e: 0 })).toEqual([
    { path: "a.b", stored: 1, given: 2 },
    { path: "d", stored: true, given: undefined },
    { path: "e", stored: undefined, given: 0 },
  ]);
  expect(differences({ c: [1, 2] }, { c: [2, 1] })).toHaveLength(1);
});

test("schedules are told by their values, other functions by their names, and infinity survives", () => {
  const told = toJson({ learningRate: cosine(1, 0), filter: function mine() {}, clip: Number.POSITIVE_INFINITY });
  expect(told).toEqual({
    learningRate: [1, expect.closeTo(0.854, 3), expect.closeTo(0.5, 9), expect.closeTo(0.146, 3), 0],
    filter: "function mine",
    clip: "Infinity",
  });
});
