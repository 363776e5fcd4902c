import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  addChangeset,
  type Bump,
  collectChangesets,
  nextVersion,
  parseChangeset,
  readChangesets,
  withChangesets,
} from "../scripts/changelog/changesets.ts";

const root = join(import.meta.dirname, "..");
let folder: string;
let changelog: string;
const before = "# Changelog\n\nNewest first.\n\n## Unreleased\n\n- **tool**: old.\n";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-changeset-"));
  changelog = join(folder, "..", `${folder.split("/").at(-1)}.md.log`);
  writeFileSync(changelog, before);
});
afterEach(() => {
  rmSync(folder, { recursive: true });
  rmSync(changelog);
});

describe("a changeset", () => {
  test("is front matter and text, joined to one paragraph", () => {
    expect(parseChangeset("---\r\narea: engine, store\r\nbump: minor\r\n---\r\n\r\nTwo\r\n  lines.\r\n")).toEqual({
      area: "engine, store",
      bump: "minor",
      text: "Two lines.",
    });
  });

  test.each([
    ["text alone", "Faster.", "no front matter"],
    ["an unknown field", "---\narea: a\nbumb: minor\n---\nx", 'the line "bumb: minor"'],
    ["an unknown bump", "---\narea: a\nbump: tiny\n---\nx", 'the bump "tiny", expected one of patch, minor, major'],
    ["no bump", "---\narea: a\n---\nx", 'the bump ""'],
    ["no area", "---\nbump: patch\n---\nx", "no area"],
    ["no text", "---\narea: a\nbump: patch\n---\n \n", "no text"],
  ])("with %s is refused", (_, source, message) => expect(() => parseChangeset(source)).toThrow(message));

  test("that is added can be read, and a second with the same words gets its own file", () => {
    const names = [1, 2, 3].map(() => addChangeset(folder, "engine", "patch", "Sampling is faster on two cores now."));
    expect(names).toEqual([
      "engine-sampling-is-faster-on-two.md",
      "engine-sampling-is-faster-on-two-2.md",
      "engine-sampling-is-faster-on-two-3.md",
    ]);
    expect(readChangesets(folder).get(names[2])?.text).toBe("Sampling is faster on two cores now.");
    expect(() => addChangeset(folder, "engine", "small", "x")).toThrow("bad-changeset");
  });
});

describe("collecting", () => {
  test("puts entries first in the unreleased section and removes the files", () => {
    addChangeset(folder, "engine", "patch", "Faster.");
    addChangeset(folder, "cli", "minor", "A command.");
    writeFileSync(join(folder, "README.md"), "# Changesets\n");
    expect(collectChangesets(folder, changelog)).toHaveLength(2);
    expect(readFileSync(changelog, "utf8")).toBe(
      before.replace("- **tool**", "- **cli**: A command.\n- **engine**: Faster.\n- **tool**"),
    );
    expect(readdirSync(folder)).toEqual(["README.md"]);
  });

  test("of nothing changes nothing", () => {
    expect(collectChangesets(folder, changelog)).toEqual([]);
    expect(readFileSync(changelog, "utf8")).toBe(before);
  });

  test("with a file that cannot be read changes nothing, and names all such files", () => {
    addChangeset(folder, "engine", "patch", "Faster.");
    writeFileSync(join(folder, "a.md"), "text");
    writeFileSync(join(folder, "b.md"), "---\narea: x\nbump: y\n---\nz");
    expect(() => collectChangesets(folder, changelog)).toThrow(/a\.md \(got no front matter.*b\.md \(got the bump "y"/);
    expect(readFileSync(changelog, "utf8")).toBe(before);
    expect(readdirSync(folder)).toHaveLength(3);
  });

  test("into a changelog without an unreleased section is refused", () => {
    expect(() => withChangesets("# Changelog\n", [])).toThrow("bad-changelog");
  });

  test("wraps long lines and leaves long words whole", () => {
    const text = `${"word ".repeat(60)}${"x".repeat(200)} end`;
    const lines = withChangesets("## Unreleased\n", [{ area: "a", bump: "patch", text }])
      .trimEnd()
      .split("\n")
      .slice(2);
    expect(lines.filter((line) => line.length > 140)).toEqual([`  ${"x".repeat(200)}`]);
    expect(lines.slice(1).every((line) => line.startsWith("  "))).toBe(true);
  });
});

test.each<[string, Bump[], string]>([
  ["0.1.0", [], "0.1.0"],
  ["0.1.3", ["patch"], "0.1.4"],
  ["0.1.3", ["patch", "minor"], "0.2.0"],
  ["0.1.3", ["major", "patch"], "0.2.0"],
  ["1.4.2", ["minor", "major"], "2.0.0"],
])("%s with %j is followed by %s", (version, bumps, next) => {
  const changesets = bumps.map((bump) => ({ area: "a", bump, text: "x" }));
  expect(nextVersion(version, changesets)).toBe(next);
});

test("the changesets of this repository can be read", () => {
  expect(() => readChangesets(join(root, ".changeset"))).not.toThrow();
});
