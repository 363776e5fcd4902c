import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { LudusError } from "../../src/errors.ts";

/** How far a change moves the version, smallest first. */
export const bumps = ["patch", "minor", "major"] as const;
export type Bump = (typeof bumps)[number];

export interface Changeset {
  readonly area: string;
  readonly bump: Bump;
  readonly text: string;
}

const lineWidth = 140;
const heading = "## Unreleased\n";

/** Reads `---`, `area: …`, `bump: …`, `---`, text. */
export function parseChangeset(source: string): Changeset {
  const match = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(source.replaceAll("\r\n", "\n"));
  if (match === null) throw badChangeset("no front matter", "area and bump between two lines of ---");
  const fields = new Map<string, string>();
  for (const line of match[1].split("\n").filter((each) => each.trim() !== "")) {
    const [, name, value] = /^(\w+):\s*(.*?)\s*$/.exec(line) ?? [];
    if (name !== "area" && name !== "bump") throw badChangeset(`the line "${line}"`, "area: … or bump: …");
    fields.set(name, value);
  }
  return checked(fields.get("area") ?? "", fields.get("bump") ?? "", match[2]);
}

function checked(area: string, given: string, words: string): Changeset {
  const bump = bumps.find((each) => each === given);
  const text = words.trim().replace(/\s+/g, " ");
  if (area === "") throw badChangeset("no area", "the part that changed, such as engine");
  if (bump === undefined) throw badChangeset(`the bump "${given}"`, `one of ${bumps.join(", ")}`);
  if (text === "") throw badChangeset("no text", "what changed for users");
  return { area, bump, text };
}

function badChangeset(got: string, expected: string): LudusError {
  return new LudusError("bad-changeset", { got, expected, hint: "See .changeset/README.md." });
}

/** Writes a changeset to a file named after its text, and returns the file's name. */
export function addChangeset(folder: string, area: string, bump: string, text: string): string {
  const changeset = checked(area, bump, text);
  const words = changeset.text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const stem = [changeset.area.toLowerCase().replace(/[^a-z0-9]+/g, "-"), ...words.slice(0, 5)].join("-");
  mkdirSync(folder, { recursive: true });
  const taken = new Set(readdirSync(folder));
  const names = [`${stem}.md`, ...Array.from({ length: taken.size + 1 }, (_, i) => `${stem}-${i + 2}.md`)];
  const name = names.find((each) => !taken.has(each))!;
  const front = `---\narea: ${changeset.area}\nbump: ${changeset.bump}\n---\n`;
  writeFileSync(join(folder, name), `${front}\n${changeset.text}\n`);
  return name;
}

/** All changesets by file name. Throws one error that names every file which cannot be read. */
export function readChangesets(folder: string): Map<string, Changeset> {
  const names = readdirSync(folder).filter((name) => name.endsWith(".md") && name !== "README.md");
  const found = new Map<string, Changeset>();
  const faults: string[] = [];
  for (const name of names.sort()) {
    try {
      found.set(name, parseChangeset(readFileSync(join(folder, name), "utf8")));
    } catch (error) {
      if (!(error instanceof LudusError)) throw error;
      faults.push(`${name} (got ${error.details.got}, expected ${error.details.expected})`);
    }
  }
  if (faults.length > 0) throw badChangeset(faults.join("; "), "changesets that can be read");
  return found;
}

/** The changelog with the changesets at the top of its unreleased section. */
export function withChangesets(changelog: string, changesets: readonly Changeset[]): string {
  const at = changelog.indexOf(heading);
  if (at < 0) {
    throw new LudusError("bad-changelog", {
      got: "no unreleased section",
      expected: `a line "${heading.trim()}" in CHANGELOG.md`,
    });
  }
  const end = at + heading.length;
  const entries = changesets.map(({ area, text }) => wrap(`- **${area}**: ${text}`));
  return `${changelog.slice(0, end)}\n${entries.join("")}${changelog.slice(end).replace(/^\n/, "")}`;
}

/** Lines of at most `lineWidth`, those after the first indented; a longer word has a line of its own. */
function wrap(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(word);
    else if (last.length + word.length < lineWidth) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`  ${word}`);
  }
  return `${lines.join("\n")}\n`;
}

/** `version` moved by the largest bump. Before 1.0 a major bump moves the minor number, as npm's ranges expect. */
export function nextVersion(version: string, changesets: readonly Changeset[]): string {
  const largest = Math.max(-1, ...changesets.map(({ bump }) => bumps.indexOf(bump)));
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (largest < 0) return version;
  if (largest === 0) return `${major}.${minor}.${patch + 1}`;
  return largest === 1 || major === 0 ? `${major}.${minor + 1}.0` : `${major + 1}.0.0`;
}

/** Moves all changesets into the changelog. The changelog is replaced before they are deleted, so that none is lost. */
export function collectChangesets(folder: string, changelogFile: string): readonly Changeset[] {
  const changesets = readChangesets(folder);
  if (changesets.size === 0) return [];
  const text = withChangesets(readFileSync(changelogFile, "utf8"), [...changesets.values()]);
  writeFileSync(`${changelogFile}.new`, text);
  renameSync(`${changelogFile}.new`, changelogFile);
  for (const name of changesets.keys()) rmSync(join(folder, name));
  return [...changesets.values()];
}
