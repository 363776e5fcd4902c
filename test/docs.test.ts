import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import { beforeAll, describe, expect, test } from "vitest";
import { builtinCommands } from "../src/cli/commands/index.ts";
import { defaultLimits } from "../src/env/define-env.ts";
import { shippedEnvs } from "../src/env/environments/index.ts";
import * as ludus from "../src/index.ts";
import { callFormats } from "../src/policy/formats/call-formats.ts";
import { infrastructureStops, policyStops } from "../src/schema/stop-reason.ts";
import * as grpoPresets from "../src/train/presets/grpo.ts";
import * as offPolicyPresets from "../src/train/presets/off-policy.ts";
import * as offlinePresets from "../src/train/presets/offline.ts";
import * as ppoPresets from "../src/train/presets/ppo.ts";
import * as reinforcePresets from "../src/train/presets/reinforce.ts";
import * as starpoPresets from "../src/train/presets/starpo.ts";
import { boundsTable } from "./docs/bounds-table.ts";
import { checkTypes } from "./docs/check-types.ts";
import { detectorTable, invariantTable } from "./docs/doctor-table.ts";
import { facts, optionTable, transcript } from "./docs/environment-facts.ts";
import { formatExamples } from "./docs/format-examples.ts";
import { madeIn, rewrite } from "./docs/made.ts";
import { metricNames } from "./docs/metric-list.ts";
import { anchorsOf, commandLines, firstCells, readPage, readPages, relativeLinks } from "./docs/pages.ts";

// What the pages say holds. `LUDUS_WRITE_DOCS=1 npm test -- docs` makes anew the stretches between `<!-- made: … -->` marks.

/** What is made, by the first word of its mark. */
const makers: Readonly<Record<string, (name: string, index: string) => string | Promise<string>>> = {
  transcript: (name, index = "0") => transcript(name, Number(index)),
  facts,
  options: optionTable,
  format: formatExamples,
  detectors: detectorTable,
  invariants: invariantTable,
  bounds: boundsTable,
};

function make(what: string): string | Promise<string> {
  const [kind, name = "", index] = what.split(" ");
  const maker = makers[kind];
  if (maker === undefined) throw new Error(`nothing makes "${what}"`);
  return maker(name, index);
}

beforeAll(async () => {
  if (!process.env.LUDUS_WRITE_DOCS) return;
  for (const { path } of readPages()) await rewrite(path, make);
});

const pages = readPages();

test("programs on the pages have the right types", { timeout: 120_000 }, async () => {
  const { blocks, problems } = await checkTypes(pages);
  expect(problems).toBe("");
  expect(blocks).toBeGreaterThan(30);
});

test("what is made from the source is as the source is", async () => {
  const made = pages.flatMap(({ path }) => madeIn(path));
  expect(made.length).toBeGreaterThan(40);
  for (const { path, what, text } of made) expect(text, `${path}: ${what}`).toBe(await make(what));
});

test("every link leads somewhere", () => {
  const dead = pages.flatMap((page) =>
    relativeLinks(page).flatMap((link) => {
      const [file = "", anchor] = link.split("#");
      const target = file === "" ? page.path : join(dirname(page.path), file);
      const isThere = existsSync(target) && (anchor === undefined || anchorsOf(readPage(target)).has(anchor));
      return isThere ? [] : [`${page.path}: ${link}`];
    }),
  );
  expect(dead).toEqual([]);
});

test("every page is in the index", () => {
  const linked = (path: string) => relativeLinks(readPage(path)).map((link) => join(dirname(path), link.split("#")[0]));
  const index = [...linked("docs/README.md"), ...linked("docs/reference/api.md")];
  const written = pages
    .map(({ path }) => path)
    .filter((path) => /^docs\/(learn|how-to|explain|reference|results)\//.test(path));
  expect(written.filter((path) => !index.includes(path))).toEqual([]);
});

describe("commands on the pages", () => {
  const lines = pages.flatMap((page) => commandLines(page).map((line) => ({ path: page.path, line })));
  const commandOf = (line: string) => builtinCommands.find(({ name }) => name === line.split(" ")[1]);

  test("exist", () => {
    expect(lines.length).toBeGreaterThan(20);
    expect(lines.filter(({ line }) => commandOf(line) === undefined)).toEqual([]);
  });

  test("have their options", () => {
    const wrong = lines.filter(({ line }) => {
      const known = ["help", ...Object.keys(commandOf(line)?.options ?? {})];
      return (line.match(/(?<= --)[a-z][\w-]*/g) ?? []).some((option) => !known.includes(option));
    });
    expect(wrong).toEqual([]);
  });

  test("name environments that there are", () => {
    const named = lines.flatMap(({ line }) => /^ludus (?:play|env check) ([\w-]+)(?: |$)/.exec(line)?.[1] ?? []);
    expect(named.filter((name) => !(name in shippedEnvs))).toEqual([]);
    expect(named).not.toEqual([]);
  });
});

describe("lists on the pages are whole", () => {
  const functionsOf = (module: object) => Object.keys(module).sort();

  test("presets", () => {
    const online = [...firstCells(readPage("docs/how-to/training.md"), "## Which preset")].sort();
    const presets = [grpoPresets, offPolicyPresets, ppoPresets, reinforcePresets, starpoPresets].flatMap(functionsOf);
    expect(online).toEqual([...presets, "rejectionTuning"].sort());
    expect([...firstCells(readPage("docs/how-to/offline.md"), "## Which algorithm")].sort()).toEqual(
      functionsOf(offlinePresets),
    );
    expect(online.filter((name) => !(name in ludus))).toEqual([]);
  });

  test("environments", () => {
    const { prose } = readPage("docs/reference/environments.md");
    const headings = Array.from(prose.matchAll(/^## ([a-z-]+)$/gm), ([, name]) => name);
    expect(headings).toEqual(Object.keys(shippedEnvs));
  });

  test("formats", () => {
    const { prose } = readPage("docs/reference/formats.md");
    const headings = Array.from(prose.matchAll(/^## ([a-z-]+)$/gm), ([, name]) => name);
    expect(headings).toEqual(Object.keys(callFormats));
  });

  test("stop reasons", () => {
    const page = readPage("docs/reference/stop-reasons.md");
    expect(firstCells(page, "## The policy's doing")).toEqual([...policyStops]);
    expect(firstCells(page, "## The infrastructure's")).toEqual([...infrastructureStops]);
  });

  test("limits, with their defaults", () => {
    const { prose } = readPage("docs/how-to/environment.md");
    const rows = Array.from(prose.matchAll(/^\| `(\w+)` \| ([\d,]+) \|/gm), ([, name, value]) => [
      name,
      Number(value.replaceAll(",", "")),
    ]);
    expect(Object.fromEntries(rows)).toEqual(defaultLimits);
  });

  test("codes of errors are those of the source", () => {
    const told = firstCells(readPage("docs/how-to/troubleshooting.md"), "## A run does not go on");
    const source = globSync("src/{train,checkpoint,store}/**/*.ts").map((path) => readFileSync(path, "utf8"));
    expect(told.length).toBeGreaterThan(0);
    expect(told.filter((code) => !source.some((text) => text.includes(`LudusError("${code}"`)))).toEqual([]);
  });

  test("metrics", () => {
    const { prose } = readPage("docs/reference/metrics.md");
    const rows = prose.split("\n").filter((line) => line.startsWith("| `"));
    const told = rows.flatMap((row) => Array.from(row.split("|")[1].matchAll(/`([^`]+)`/g), ([, name]) => name));
    expect([...told].sort()).toEqual([...metricNames()].sort());
  });
});
