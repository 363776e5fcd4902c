import { readdir, stat } from "node:fs/promises";
import { basename, join, relative, resolve, sep } from "node:path";
import { bounds } from "../../bounds.ts";
import { defined } from "../../defined.ts";
import { errorText, LudusError } from "../../errors.ts";
import { nearest } from "../../nearest.ts";
import { pathInside, readInside } from "../read-inside.ts";
import { badSkill, type FieldValue, readFrontmatter } from "./frontmatter.ts";

/** An agent skill: https://agentskills.io/specification */
export interface Skill {
  readonly name: string;
  readonly description: string;
  readonly license?: string;
  readonly compatibility?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  /** The field `allowed-tools`, split at spaces. */
  readonly allowedTools?: readonly string[];
  /** The instructions, which are read when the skill is activated. */
  readonly body: string;
  readonly folder: string;
  /** Further files, by their paths in the folder, with `/`. */
  readonly files: readonly string[];
}

export const skillFile = "SKILL.md";

/**
 * The skills in a folder, by name: each folder in it that has a `SKILL.md`, or the folder itself if it is a skill. Rejects with
 * `bad-skill`, naming file and field, for one that is not as specified.
 */
export async function loadSkills(folder: string): Promise<Skill[]> {
  const root = resolve(folder);
  const names = await namesIn(root);
  if (names.includes(skillFile)) return [await loadSkill(root)];
  const skills: Skill[] = [];
  for (const name of names.toSorted()) {
    const at = join(root, name);
    if (name.startsWith(".") || !(await isFolder(at))) continue;
    const inside = await namesIn(at);
    const misspelt = inside.find((each) => each !== skillFile && each.toLowerCase() === skillFile.toLowerCase());
    if (inside.includes(skillFile)) skills.push(await loadSkill(at));
    else if (misspelt !== undefined) throw badSkill(at, `the file ${misspelt}`, `the name ${skillFile}`);
  }
  if (skills.length > 0) return skills;
  throw badSkill(root, "no skill", `a folder with a ${skillFile}, or a folder of such folders`);
}

/** Links are followed; one that leads nowhere is none. */
async function isFolder(path: string): Promise<boolean> {
  const about = await stat(path).catch(() => undefined);
  return about?.isDirectory() === true;
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (cause) {
    throw new LudusError("bad-skill", {
      got: errorText(cause),
      expected: `a folder that can be read: ${folder}`,
      cause,
    });
  }
}

async function loadSkill(folder: string): Promise<Skill> {
  const content = await readInside(folder, skillFile, bounds.skillFileBytes);
  return { ...readSkill(join(folder, skillFile), content, basename(folder)), folder, files: await filesOf(folder) };
}

/** What a `SKILL.md` says. Throws `bad-skill` for one that is not as specified. */
export function readSkill(file: string, content: string, folderName: string): Omit<Skill, "folder" | "files"> {
  const { fields, body } = readFrontmatter(file, content);
  refuseUnknownFields(file, [...fields.keys()]);
  const name = textField(file, fields, "name", 64);
  const description = textField(file, fields, "description", 1024);
  if (name === undefined) throw badSkill(file, 'no field "name"', `name: ${folderName}`);
  if (description === undefined)
    throw badSkill(file, 'no field "description"', "what the skill does, and when to use it");
  checkName(file, name, folderName);
  const allowed = textField(file, fields, "allowed-tools");
  return {
    name,
    description,
    ...defined({
      license: textField(file, fields, "license"),
      compatibility: textField(file, fields, "compatibility", 500),
      metadata: mapField(file, fields.get("metadata")),
      allowedTools: allowed?.split(/\s+/),
    }),
    body,
  };
}

const known = ["name", "description", "license", "compatibility", "metadata", "allowed-tools"];

function refuseUnknownFields(file: string, names: readonly string[]): void {
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const meant = nearest(unknown, known);
  const hint = meant === undefined ? "Further facts belong into `metadata`." : `Did you mean "${meant}"?`;
  throw badSkill(file, `the field "${unknown}"`, known.join(", "), hint);
}

function textField(
  file: string,
  fields: ReadonlyMap<string, FieldValue>,
  name: string,
  maxChars = bounds.skillFileBytes,
): string | undefined {
  const value = fields.get(name);
  if (value === undefined) return undefined;
  if (typeof value !== "string") throw badSkill(file, `a map as "${name}"`, "a text");
  const text = value.trim();
  const chars = [...text].length;
  if (chars >= 1 && chars <= maxChars) return text;
  throw badSkill(file, `a "${name}" of ${chars} characters`, `1 to ${maxChars} characters`);
}

function mapField(file: string, value: FieldValue | undefined): Readonly<Record<string, string>> | undefined {
  if (typeof value !== "string") return value;
  throw badSkill(file, `the text ${JSON.stringify(value)} as "metadata"`, "a map of names to texts");
}

function checkName(file: string, name: string, folderName: string): void {
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) {
    const expected = "small letters a-z, digits and single hyphens between them";
    throw badSkill(file, `the "name" ${JSON.stringify(name)}`, expected);
  }
  if (name !== folderName) throw badSkill(file, `the "name" ${name}`, `the name of its folder, ${folderName}`);
}

/** Regular files, and links to such inside the folder; nothing hidden. */
async function filesOf(folder: string): Promise<string[]> {
  const files: string[] = [];
  const visit = async (at: string): Promise<void> => {
    for (const entry of await readdir(at, { withFileTypes: true })) {
      const path = relative(folder, join(at, entry.name)).split(sep).join("/");
      if (entry.name.startsWith(".") || path === skillFile) continue;
      if (entry.isDirectory()) await visit(join(at, entry.name));
      else if (entry.isFile() || (entry.isSymbolicLink() && (await isFileInside(folder, path)))) files.push(path);
      if (files.length > bounds.skillFiles) {
        throw badSkill(folder, `more than ${bounds.skillFiles} files`, `at most ${bounds.skillFiles}`);
      }
    }
  };
  await visit(folder);
  return files.sort();
}

async function isFileInside(folder: string, path: string): Promise<boolean> {
  try {
    return (await stat(await pathInside(folder, path))).isFile();
  } catch {
    return false;
  }
}
