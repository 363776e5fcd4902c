import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { expect, test } from "vitest";

// A folder may import from itself and from folders of a lower rank: never sideways, never up.
const rank: Readonly<Record<string, number>> = {
  schema: 0,
  tensor: 0,
  scorer: 1,
  task: 1,
  tool: 1,
  policy: 1,
  credit: 1,
  loss: 1,
  store: 1,
  env: 4,
  reward: 2,
  engine: 2,
  queue: 2,
  monitor: 2,
  rollout: 3,
  checkpoint: 3,
  guide: 5,
  eval: 5,
  train: 6,
  server: 7,
  recipe: 7,
  cli: 8,
};
// For everyone, and so importing no folder.
const shared = [
  "atomic-folder.ts",
  "bounded-json.ts",
  "bounded-response.ts",
  "bounds.ts",
  "check-node.ts",
  "clock.ts",
  "cut-text.ts",
  "defined.ts",
  "errors.ts",
  "http-origin.ts",
  "known-options.ts",
  "limiter.ts",
  "listen-error.ts",
  "make-folder.ts",
  "model-file.ts",
  "nearest.ts",
  "option-without-effect.ts",
  "random.ts",
  "redact.ts",
  "statistics.ts",
];
// index.ts and testing/ import everyone; experimental/ may import all and is imported by none.
const unranked = [...shared, "index.ts", "testing", "experimental"];

const maxContractLines = 150;
const contracts = [
  "task/task-source.ts",
  "policy/renderer.ts",
  "rollout/world.ts",
  "store/run-catalog.ts",
  "tool/sandbox/sandbox.ts",
];
const longerContracts: Readonly<Record<string, { maxLines: number; reason: string }>> = {
  "engine/engine.ts": {
    maxLines: 190,
    reason: "the narrow waist: sampling, training and their records are one contract with one worked example",
  },
};

// Cycles that stay inside one of these folders are meant.
const mutual: Readonly<Record<string, string>> = {
  "tensor/operators/": "a derivative is written with other operators: that of a sum expands, that of an expansion sums",
};

// Folders that hold implementations of one contract. An implementation knows the contract, never another implementation;
// what several of them need is in a folder listed under `common`, which knows none of them.
const implementationFolders: Readonly<Record<string, { common: readonly string[] }>> = {
  engine: { common: ["contract", "model"] },
  store: { common: ["contract"] },
};

interface Source {
  readonly path: string;
  readonly text: string;
  /** Relative specifiers, as written. */
  readonly specifiers: readonly string[];
  /** The same, as paths from src/. */
  readonly imports: readonly string[];
}

const sources = globSync("src/**/*.ts").map((file) => readSource(file.replaceAll("\\", "/").slice("src/".length)));
const isTest = (path: string) => /\.(test|contract)\.ts$/.test(path);
const folderOf = (path: string) => path.split("/")[0];

function readSource(path: string): Source {
  const text = readFileSync(join("src", path), "utf8");
  const statements = /(?:^|;)\s*(?:import|export)\b[^"';]*?["'](\.[^"']*)["']|\bimport\(\s*["'](\.[^"']*)["']/gm;
  const specifiers = Array.from(text.matchAll(statements), ([, fixed, dynamic]) => fixed ?? dynamic);
  return { path, text, specifiers, imports: specifiers.map((specifier) => join(dirname(path), specifier)) };
}

/** Every import that `isWrong`, written `from -> to`. */
function wrongImports(isWrong: (from: string, to: string) => boolean): string[] {
  return sources.flatMap(({ path, imports }) =>
    imports.filter((to) => isWrong(path, to)).map((to) => `${path} -> ${to}`),
  );
}

test("every folder of src/ has a rank", () => {
  const unknown = sources
    .map(({ path }) => folderOf(path))
    .filter((name) => !(name in rank) && !unranked.includes(name.replace(".test.ts", ".ts")));
  expect(new Set(unknown), "give the folder a rank in test/layers.test.ts, or move the file into one that has").toEqual(
    new Set(),
  );
});

test("imports only run downhill", () => {
  const isUphill = (from: string, to: string) => {
    const [above, below] = [rank[folderOf(from)], rank[folderOf(to)]];
    return above !== undefined && below !== undefined && folderOf(from) !== folderOf(to) && below >= above;
  };
  expect(wrongImports(isUphill), "move what both need to a lower folder, or pass it in as an argument").toEqual([]);
});

test("implementations of a contract do not know each other", () => {
  const parts = (path: string, parent: string) =>
    path.startsWith(`${parent}/`) ? path.slice(parent.length + 1).split("/") : [];
  const isSideways = (from: string, to: string) =>
    Object.entries(implementationFolders).some(([parent, { common }]) => {
      const [own, other] = [parts(from, parent), parts(to, parent)];
      if (own.length < 2 || other.length < 2 || own[0] === other[0]) return false;
      return !common.includes(other[0]);
    });
  // a parity test may compare two implementations
  const wrong = wrongImports((from, to) => !isTest(from) && isSideways(from, to));
  expect(wrong, "move what both need to the folder that they share, such as engine/model/").toEqual([]);
});

test("no stage takes the run", () => {
  const takesRun = (from: string, to: string) =>
    from.startsWith("train/stages/") && !isTest(from) && ["train/training-run.ts", "train/train-sync.ts"].includes(to);
  expect(wrongImports(takesRun), "a stage takes what it needs in its context and input").toEqual([]);
});

test("only store/ knows how a run is stored", () => {
  const knows = (from: string, to: string) =>
    folderOf(from) !== "store" && !isTest(from) && /^store\/(sqlite|memory)(\/|-)/.test(to);
  expect(wrongImports(knows), "take a RunCatalog or a RunReader from store/index.ts").toEqual([]);
  const names = sources.filter(({ path, text }) => {
    const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
    return folderOf(path) !== "store" && !isTest(path) && code.includes("run.sqlite");
  });
  expect(names.map(({ path }) => path)).toEqual([]);
});

test("the page to read first stays on a page", () => {
  const page = sources.find(({ path }) => path === "train/train-sync.ts");
  expect(page?.text.split("\n").length).toBeLessThan(120);
});

test("what everyone imports is a leaf", () => {
  const leaves = (from: string, to: string) => shared.includes(from) && !shared.includes(to);
  expect(wrongImports(leaves)).toEqual([]);
});

test("tensor/ is sealed", () => {
  const leaves = (from: string, to: string) => folderOf(from) === "tensor" && folderOf(to) !== "tensor";
  expect(wrongImports(leaves), "tensor/ imports nothing from the rest of src/").toEqual([]);
});

test("nothing that ships depends on tests, testing/, experimental/ or the public index", () => {
  const isForbidden = (from: string, to: string) => {
    if (isTest(from) || folderOf(from) === "testing") return false;
    if (folderOf(to) === "experimental") return folderOf(from) !== "experimental";
    return isTest(to) || folderOf(to) === "testing" || to === "index.ts";
  };
  expect(wrongImports(isForbidden)).toEqual([]);
});

test("relative imports name the file, with .ts", () => {
  const wrong = sources.flatMap(({ path, specifiers }) =>
    specifiers.filter((name) => !/\.(ts|json)$/.test(name)).map((name) => `${path}: "${name}"`),
  );
  expect(wrong, 'write "./file.ts", not "./file" or "./file.js"').toEqual([]);
});

test("there are no import cycles", () => {
  const cycles = findCycles(new Map(sources.map(({ path, imports }) => [path, imports])));
  const isMeant = (cycle: readonly string[]) =>
    Object.keys(mutual).some((folder) => cycle.every((path) => path.startsWith(folder)));
  const unmeant = cycles.filter((cycle) => !isMeant(cycle)).map((cycle) => cycle.join(" -> "));
  expect(unmeant, "move what both need to a third file").toEqual([]);
});

test("a contract fits on a page or two", () => {
  expect(contracts.filter((path) => sources.every((source) => source.path !== path))).toEqual([]);
  const isContract = ({ path }: Source) =>
    contracts.includes(path) || path === `${folderOf(path)}/${folderOf(path)}.ts`;
  const tooLong = sources.filter(isContract).flatMap(({ path, text }) => {
    const lines = text.trimEnd().split("\n").length;
    return lines > (longerContracts[path]?.maxLines ?? maxContractLines) ? [`${path}: ${lines} lines`] : [];
  });
  expect(tooLong, "move what is not the contract to a file beside it").toEqual([]);
});

test("ARCHITECTURE.md has every folder with its rank", () => {
  const rows = readFileSync("ARCHITECTURE.md", "utf8").matchAll(/^\| (\d) \| `(\w+)\/`/gm);
  expect(Object.fromEntries(Array.from(rows, ([, number, folder]) => [folder, Number(number)]))).toEqual(rank);
});

test("files that ARCHITECTURE.md names are there", () => {
  const text = readFileSync("ARCHITECTURE.md", "utf8");
  const named = Array.from(text.matchAll(/`((?:src\/|examples\/|\w+\/)[\w./-]+\.ts)`/g), ([, path]) => path);
  const isThere = (path: string) => [path, join("src", path)].some((each) => existsSync(each));
  expect(named.length).toBeGreaterThan(20);
  // what the table gives as an example does not exist yet
  expect(named.filter((path) => !isThere(path) && path !== "queue/queue.ts")).toEqual([]);
});

test("findCycles finds one", () => {
  const graph = new Map([
    ["a.ts", ["b.ts", "c.ts"]],
    ["b.ts", ["c.ts"]],
    ["c.ts", ["a.ts"]],
    ["d.ts", ["c.ts"]],
  ]);
  expect(findCycles(graph)).toEqual([["a.ts", "b.ts", "c.ts", "a.ts"]]);
});

/** Depth first; each file is entered once, so each loop is reported at least once and no file is walked twice. */
function findCycles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const cycles: string[][] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]) => {
    const start = trail.indexOf(path);
    if (start >= 0) cycles.push([...trail.slice(start), path]);
    if (start >= 0 || done.has(path)) return;
    for (const next of graph.get(path) ?? []) walk(next, [...trail, path]);
    done.add(path);
  };
  for (const path of graph.keys()) walk(path, []);
  return cycles;
}
