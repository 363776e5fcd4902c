import { z } from "zod";
import { defined } from "../../defined.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { nearest } from "../../nearest.ts";
import { compact } from "../../policy/formats/compact.ts";
import { hermes } from "../../policy/formats/hermes.ts";
import { generated } from "../../task/generated.ts";
import type { NewSkill } from "../../tool/skill/save-skill.ts";
import { skillsContext } from "../../tool/skill/skill-tools.ts";
import { ToolError } from "../../tool/tool.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import type { Style } from "./moves.ts";
import {
  type FilingRule,
  filingRules,
  officeSkillList,
  placesOf,
  skillBody,
  stamps,
  trayFile,
  trays,
  trayText,
} from "./office-skill-list.ts";

export interface OfficeSkillsOptions {
  style: Style;
  /**
   * What the policy is told of the 20 skills: names and descriptions, and more when it asks (`disclosed`, progressive disclosure); all
   * of them from the beginning (`everything`); or nothing (`hidden`), for comparison.
   */
  skills: "disclosed" | "everything" | "hidden";
  /** The skills that requests are about, by name; all by default. */
  kinds?: readonly string[];
  seed: number;
}

const knownOptions: KnownOptions<OfficeSkillsOptions> = { style: true, skills: true, kinds: true, seed: true };
const defaults: OfficeSkillsOptions = { style: "compact", skills: "disclosed", seed: 0 };

export interface OfficeSkillsTask {
  /** The place of the skill that is needed. */
  readonly skill: number;
  /** The office's rules change from task to task, so that they cannot be learned by heart. */
  readonly revision: number;
  readonly order: string;
  /** Skills that someone wrote, such as a policy in `officeTrials`: they are told in place of the office's own. */
  readonly library?: readonly NewSkill[];
}

export interface OfficeSkillsState {
  readonly rules: readonly FilingRule[];
  readonly library?: readonly NewSkill[];
  activated: string[];
  read: string[];
  filed: FilingRule | undefined;
}

/**
 * Requests to an office with 20 agent skills, one of which says how such a request is filed: tray and stamp, of which the tray is in a
 * file of the skill for one in four. Success is both right; a guess is right once in 36.
 */
export function officeSkills(options: Partial<OfficeSkillsOptions> = {}): Env<OfficeSkillsTask, OfficeSkillsState> {
  refuseUnknownOptions("officeSkills", options, knownOptions);
  const { style, skills, kinds, seed } = { ...defaults, ...options };
  refuseOtherValue("officeSkills: skills", skills, ["disclosed", "everything", "hidden"]);
  refuseOtherValue("officeSkills: style", style, ["compact", "tags"]);
  const places = placesOf("officeSkills", kinds);
  const tasks = generated<OfficeSkillsTask>(
    (rng) => ({
      skill: places[rng.integer(places.length)],
      revision: rng.integer(2 ** 31),
      order: `${"KLMN"[rng.integer(4)]}${10 + rng.integer(90)}`,
    }),
    { name: "office-skills", seed },
  );
  const isDisclosed = skills === "disclosed";
  return defineEnv({
    name: "office-skills",
    description: "File requests as one of 20 agent skills says",
    tasks,
    ...defined({
      system: skills === "hidden" ? undefined : (task: OfficeSkillsTask) => told(task, style, isDisclosed),
    }),
    start: ({ task }) => ({
      state: {
        rules: filingRules(task.revision),
        activated: [],
        read: [],
        filed: undefined,
        ...defined({ library: task.library }),
      } as OfficeSkillsState,
      say: `${task.order}: ${officeSkillList[task.skill].request}.`,
    }),
    tools: (tool) => ({
      ...(isDisclosed
        ? {
            activate_skill: tool({
              description: "Gives the instructions of a skill",
              input: z.object({ name: z.string() }),
              run({ name }, { state }) {
                const index = placeOf(name, state);
                state.activated.push(name);
                if (state.library !== undefined) return state.library[index].body;
                return skillBody(officeSkillList[index], state.rules[index], style);
              },
            }),
            read_skill_file: tool({
              description: "Gives the text of a file of a skill",
              input: z.object({ skill: z.string(), path: z.string() }),
              run({ skill, path }, { state }) {
                const index = placeOf(skill, state);
                const files = state.library === undefined && officeSkillList[index].hasFile ? [trayFile] : [];
                if (!files.includes(path)) throw new ToolError(`the skill ${skill} has ${files[0] ?? "no files"}.`);
                state.read.push(skill);
                return trayText(state.rules[index], style);
              },
            }),
          }
        : {}),
      file_request: tool({
        description: "Puts the request into a tray, with a stamp",
        input: z.object({ tray: z.string(), stamp: z.string() }),
        run({ tray, stamp }, { state, finish }) {
          state.filed = { tray, stamp };
          finish(`${tray} ${stamp}`);
          return "filed";
        },
      }),
    }),
    score: ({ task, state: { rules, filed } }) => {
      const { tray, stamp } = rules[task.skill];
      return filed?.tray === tray && filed.stamp === stamp ? 1 : 0;
    },
    expert: ({ task, state }) => ({ calls: [nextCall(task, state, isDisclosed)] }),
    actions: ({ task, state }) => {
      const { tray, stamp } = state.rules[task.skill];
      const filings = [
        ...trays.map((each) => ({ tray: each, stamp })),
        ...stamps.map((each) => ({ tray, stamp: each })),
      ];
      return [
        ...(isDisclosed ? officeSkillList.map(({ name }) => ({ name: "activate_skill", arguments: { name } })) : []),
        ...filings.map((filing) => ({ name: "file_request", arguments: filing })),
      ].map((call) => ({ calls: [call] }));
    },
    limits: { turns: 5, turnTokens: style === "tags" ? 96 : 32 },
    format: style === "tags" ? hermes() : compact(),
  });
}

function nextCall({ skill }: OfficeSkillsTask, state: OfficeSkillsState, isDisclosed: boolean) {
  const { rules, library, activated, read } = state;
  const { name, hasFile } = officeSkillList[skill];
  const isThere = isDisclosed && (library === undefined || library.some((each) => each.name === name));
  if (isThere && !activated.includes(name)) return { name: "activate_skill", arguments: { name } };
  if (isThere && library === undefined && hasFile && !read.includes(name))
    return { name: "read_skill_file", arguments: { skill: name, path: trayFile } };
  return { name: "file_request", arguments: { ...rules[skill] } };
}

/** What stands before the request. */
function told({ revision, library }: OfficeSkillsTask, style: Style, isDisclosed: boolean): string {
  const listed = library ?? officeSkillList;
  const lines = listed.map(({ name, description }) => `${name}: ${description}`);
  if (listed.length === 0) return "no skills";
  if (isDisclosed) {
    if (style === "compact") return lines.join("\n");
    const skills = listed.map(({ name, description }) => ({
      name,
      description,
      body: "",
      folder: "",
      files: [],
    }));
    return skillsContext(skills);
  }
  const rules = filingRules(revision);
  const bodies =
    library?.map(({ body }) => [body]) ??
    officeSkillList.map((skill, index) => {
      const file = skill.hasFile ? [`${trayFile}: ${trayText(rules[index], style)}`] : [];
      return [skillBody(skill, rules[index], style), ...file];
    });
  return bodies
    .map((parts, index) =>
      style === "compact" ? `${lines[index]}: ${parts.join(", ")}` : `# ${lines[index]}\n${parts.join("\n")}`,
    )
    .join("\n");
}

/** Among the skills of the library, or of the office. */
function placeOf(name: string, { library }: OfficeSkillsState): number {
  const names = (library ?? officeSkillList).map((skill) => skill.name);
  const index = names.indexOf(name);
  if (index >= 0) return index;
  const meant = nearest(name, names);
  const all = names.length === 0 ? "There are none." : `Skills: ${names.join(", ")}.`;
  const suggestion = meant === undefined ? all : `Did you mean "${meant}"?`;
  throw new ToolError(`there is no skill ${JSON.stringify(name.slice(0, 40))}. ${suggestion}`);
}

/** The office's own skill for a task's request, without files: as someone would write it who knows the rule. */
export function officeSkillFor({ skill, revision }: OfficeSkillsTask): NewSkill {
  const { name, request } = officeSkillList[skill];
  return { name, description: request, body: skillBody({ hasFile: false }, filingRules(revision)[skill], "compact") };
}
