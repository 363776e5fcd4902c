import { globSync, readFileSync } from "node:fs";
import { join } from "node:path/posix";
import { beforeAll, describe, expect, test } from "vitest";
import { type Entry, type EntryPoint, keyOf, readApi } from "../scripts/api/read-api.ts";
import * as ludus from "../src/index.ts";

// The names a user can import are a decision. Changed on purpose? `npm test -- public-surface -u`, and say so in the changelog.
const maxRootValues = 100;
const maxRootTypes = 120;

let entryPoints: readonly EntryPoint[];

beforeAll(() => {
  entryPoints = readApi(process.cwd()).entryPoints;
}, 120_000);

const kindOf = ({ isType }: Entry) => (isType ? "type" : "value");
const rootEntries = () => entryPoints.find(({ path }) => path === "ludus")?.entries ?? [];

test("the public names are the reviewed ones", async () => {
  const lines = entryPoints.flatMap(({ path, entries }) => [
    `${path}\n`,
    ...entries.map((entry) => `  ${kindOf(entry)} ${entry.name}\n`).sort(),
  ]);
  await expect(lines.join("")).toMatchFileSnapshot("public-surface.txt");
});

describe("the main entry point", () => {
  test("has few names, each one that a program types", () => {
    expect(rootEntries().filter(({ isType }) => !isType).length).toBeLessThanOrEqual(maxRootValues);
    expect(rootEntries().filter(({ isType }) => isType).length).toBeLessThanOrEqual(maxRootTypes);
  });

  test("exports every value at run time", () => {
    const values = rootEntries().flatMap(({ isType, name }) => (isType ? [] : [name]));
    expect(Object.keys(ludus).sort()).toEqual(values.sort());
  });
});

test("a name means the same wherever it is imported from", () => {
  const sources = new Map<string, Set<string>>();
  for (const { name, source } of entryPoints.flatMap(({ entries }) => entries)) {
    sources.set(name, (sources.get(name) ?? new Set()).add(source));
  }
  expect([...sources].filter(([, places]) => places.size > 1)).toEqual([]);
});

// Names that nothing uses are removed, or get a line in docs/.
test("every public name has a use", () => {
  const documented = namesInDocs();
  const imports = [...importsOf("{examples,recipes,scripts,bench,dashboard/src}/**/*.{ts,tsx}"), ...importsInSource()];
  const isImported = ({ name, source }: Entry) =>
    imports.some((each) => each.name === name && each.folder !== folderOf(source));
  const all = new Map(entryPoints.flatMap(({ entries }) => entries.map((entry) => [keyOf(entry), entry] as const)));
  const used = new Set<string>();
  const use = (key: string): void => {
    if (used.has(key)) return;
    used.add(key);
    // a type is used where the signature of a used name has it
    for (const each of all.get(key)?.uses ?? []) use(each);
  };
  for (const [key, entry] of all) if (documented.has(entry.name) || isImported(entry)) use(key);
  const unused = entryPoints.flatMap(({ path, entries }) =>
    entries.filter((entry) => !used.has(keyOf(entry))).map(({ name }) => `${path}: ${name}`),
  );
  expect(unused).toEqual([]);
});

/** Names in code, inline or in blocks, of the pages that people write. */
function namesInDocs(): ReadonlySet<string> {
  const pages = ["README.md", ...globSync("docs/**/*.md")].filter((path) => !path.startsWith("docs/reference/api"));
  const code = pages.flatMap((path) => readFileSync(path, "utf8").match(/```[\s\S]*?```|`[^`\n]+`/g) ?? []);
  return new Set(code.flatMap((text) => text.match(/[A-Za-z_]\w*/g) ?? []));
}

interface Import {
  readonly name: string;
  /** The folder of `src/` that imports it; nothing outside of `src/`. */
  readonly folder?: string;
}

function importsOf(pattern: string): Import[] {
  return globSync(pattern).flatMap((path) => namesImportedBy(path).map((name) => ({ name })));
}

/** What one folder of `src/` takes from another; tests and lists of exports are no use. */
function importsInSource(): Import[] {
  const files = globSync("src/*/**/*.ts").filter((path) => !/\.(test|contract)\.ts$|\/index\.ts$/.test(path));
  return files.flatMap((path) => namesImportedBy(path).map((name) => ({ name, folder: folderOf(path) })));
}

function namesImportedBy(path: string): string[] {
  const imports = readFileSync(path, "utf8").matchAll(/^import (?:type )?\{([^}]*)\} from/gm);
  return Array.from(imports).flatMap(([, list]) =>
    list.split(",").map((entry) =>
      entry
        .trim()
        .replace(/^type /, "")
        .replace(/ as .*$/, ""),
    ),
  );
}

/** `src/env/environments` is an entry point of its own, all else goes by the first folder. */
function folderOf(path: string): string {
  const environments = join("src", "env", "environments");
  return path.startsWith(environments) ? environments : path.split("/").slice(0, 2).join("/");
}
