import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { bounds } from "../../bounds.ts";
import { errorText, LudusError } from "../../errors.ts";
import { badSkill } from "./frontmatter.ts";
import { readSkill, type Skill, skillFile } from "./load-skills.ts";

/** What an agent writes down for others. */
export type NewSkill = Pick<Skill, "name" | "description" | "body">;

/** The `SKILL.md` of a skill, which `loadSkills` reads. Throws `bad-skill` for what the specification does not allow. */
export function skillText({ name, description, body }: NewSkill): string {
  for (const [field, value] of Object.entries({ name, description, body })) {
    if (typeof value !== "string") throw badSkill("a new skill", `${typeof value} as its ${field}`, "a text");
  }
  // a text in double quotes says the same in JSON and in YAML, but for separators of lines that only YAML knows
  const quoted = JSON.stringify(description.trim()).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, escaped);
  const text = `---\nname: ${name}\ndescription: ${quoted}\n---\n${body.trim()}\n`;
  const bytes = Buffer.byteLength(text);
  if (bytes > bounds.skillFileBytes)
    throw badSkill(`the new skill ${name.slice(0, 64)}`, `${bytes} bytes`, `at most ${bounds.skillFileBytes}`);
  const file = `the new skill ${JSON.stringify(name.slice(0, 64))}`;
  const read = readSkill(file, text, name);
  if (read.name === name && read.description === description.trim()) return text;
  throw badSkill(file, JSON.stringify({ name, description }).slice(0, 200), "a name and a description in plain text");
}

/** Writes a skill into a folder of skills, as `<name>/SKILL.md`, and gives its folder. One that is there already is not replaced. */
export async function saveSkill(folder: string, skill: NewSkill): Promise<string> {
  const text = skillText(skill);
  const own = join(resolve(folder), skill.name);
  try {
    await mkdir(own, { recursive: true });
    await writeFile(join(own, skillFile), text, { flag: "wx" });
  } catch (cause) {
    throw new LudusError("cannot-write", {
      got: errorText(cause),
      expected: `a new file: ${join(own, skillFile)}`,
      hint: "A skill of that name that is there already has to be removed first.",
      cause,
    });
  }
  return own;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
