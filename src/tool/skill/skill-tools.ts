import { z } from "zod";
import { bounds } from "../../bounds.ts";
import { cutText } from "../../cut-text.ts";
import { LudusError } from "../../errors.ts";
import { nearest } from "../../nearest.ts";
import { tool } from "../define-tool.ts";
import { readInside } from "../read-inside.ts";
import { type Tool, ToolError } from "../tool.ts";
import type { Skill } from "./load-skills.ts";

/** What a policy reads of skills from the beginning: their names and what they are for. */
export function skillsContext(skills: readonly Skill[]): string {
  const lines = skills.map(({ name, description }) => `- ${name}: ${description.replace(/\s+/g, " ")}`);
  return [
    "Skills are instructions for certain work. When one fits what you are asked to do, activate it first with activate_skill.",
    "",
    ...lines,
  ].join("\n");
}

/** `activate_skill` gives the instructions of a skill and the names of its files, `read_skill_file` one of these. */
export function skillTools(skills: readonly Skill[]) {
  return {
    activate_skill: tool({
      description: "Gives the instructions of a skill",
      input: z.object({ name: z.string() }),
      run({ name }) {
        const { body, files } = skillNamed(skills, name);
        const further = files.length === 0 ? "" : `\n\nFiles of this skill, for read_skill_file: ${files.join(", ")}`;
        return `${body}${further}`;
      },
    }),
    read_skill_file: tool({
      description: "Gives the text of a file of a skill",
      input: z.object({ skill: z.string(), path: z.string() }),
      run: ({ skill, path }) => readSkillFile(skillNamed(skills, skill), path),
    }),
  } satisfies Record<string, Tool>;
}

const quoted = (text: string) => JSON.stringify(cutText(text, bounds.quotedChars));

function skillNamed(skills: readonly Skill[], name: string): Skill {
  const found = skills.find((skill) => skill.name === name);
  if (found !== undefined) return found;
  const names = skills.map((skill) => skill.name);
  throw new ToolError(`there is no skill ${quoted(name)}.${suggestion(name, names)} Skills: ${names.join(", ")}.`);
}

async function readSkillFile({ name, folder, files }: Skill, path: string): Promise<string> {
  try {
    return await readInside(folder, path, bounds.skillFileBytes);
  } catch (error) {
    if (!(error instanceof LudusError)) throw error;
    throw new ToolError(told(error.code, name, path, files), { cause: error });
  }
}

/** In words that have no path of this machine in them. */
function told(code: string, skill: string, path: string, files: readonly string[]): string {
  if (code === "file-path-refused") return `${quoted(path)} is outside of the skill ${skill}.`;
  if (code === "file-too-large") return `${quoted(path)} is larger than ${bounds.skillFileBytes} bytes.`;
  if (code === "file-not-text") return `${quoted(path)} is no text file.`;
  const all = files.length === 0 ? "It has none." : `Files: ${cutText(files.join(", "), bounds.failureText)}.`;
  return `the skill ${skill} has no file ${quoted(path)}.${suggestion(path, files)} ${all}`;
}

function suggestion(word: string, known: readonly string[]): string {
  const meant = nearest(word, known);
  return meant === undefined ? "" : ` Did you mean "${meant}"?`;
}
