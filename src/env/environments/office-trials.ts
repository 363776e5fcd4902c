import { z } from "zod";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { compact } from "../../policy/formats/compact.ts";
import type { Turn } from "../../schema/turn.ts";
import { generated } from "../../task/generated.ts";
import type { NewSkill } from "../../tool/skill/save-skill.ts";
import { ToolError } from "../../tool/tool.ts";
import { defineEnv } from "../define-env.ts";
import type { Env } from "../env.ts";
import {
  type FilingRule,
  filingRules,
  officeSkillList,
  placesOf,
  skillBody,
  stamps,
  trays,
} from "./office-skill-list.ts";
import type { OfficeSkillsTask } from "./office-skills.ts";

export interface OfficeTrialsOptions {
  /** The skills that requests are about, by name; all by default. */
  kinds: readonly string[];
  seed: number;
}

const knownOptions: KnownOptions<OfficeTrialsOptions> = { kinds: true, seed: true };

export interface OfficeTrialsState {
  readonly rule: FilingRule;
  /** What was tried last. */
  tried: FilingRule | undefined;
  isFiled: boolean;
  /** Instructions, as they were written down. */
  written: string | undefined;
}

/** Trays one after the other, each with a stamp in front of it. */
const most = Math.max(trays.length, stamps.length);

/**
 * The office of `officeSkills` before anyone has written a skill. How a request is filed has to be found out: what is wrong about a filing comes back, `tray`,
 * `stamp` or both. Once it is filed, `write_skill` records for others how it is done. Success is a request that is filed and a skill that says how.
 */
export function officeTrials(options: Partial<OfficeTrialsOptions> = {}): Env<OfficeSkillsTask, OfficeTrialsState> {
  refuseUnknownOptions("officeTrials", options, knownOptions);
  const { kinds, seed = 0 } = options;
  const places = placesOf("officeTrials", kinds);
  const tasks = generated<OfficeSkillsTask>(
    (rng) => ({
      skill: places[rng.integer(places.length)],
      revision: rng.integer(2 ** 31),
      order: `${"KLMN"[rng.integer(4)]}${10 + rng.integer(90)}`,
    }),
    { name: "office-trials", seed },
  );
  return defineEnv<OfficeSkillsTask, OfficeTrialsState>({
    name: "office-trials",
    description: "Find out how a request is filed, and write it down as an agent skill",
    tasks,
    start: ({ task: { skill, revision, order } }) => ({
      state: { rule: filingRules(revision)[skill], tried: undefined, isFiled: false, written: undefined },
      say: `${order}: ${officeSkillList[skill].request}.`,
    }),
    tools: (tool) => ({
      file_request: tool({
        description: "Puts the request into a tray, with a stamp",
        input: z.object({ tray: z.string(), stamp: z.string() }),
        run({ tray, stamp }, { state }) {
          if (state.isFiled) throw new ToolError("it is filed already.");
          state.tried = { tray, stamp };
          const wrong = [
            ...(tray === state.rule.tray ? [] : ["tray"]),
            ...(stamp === state.rule.stamp ? [] : ["stamp"]),
          ];
          state.isFiled = wrong.length === 0;
          return state.isFiled ? "filed" : `wrong ${wrong.join(", ")}`;
        },
      }),
      write_skill: tool({
        description: "Writes down how requests of this kind are filed",
        input: z.object({ instructions: z.string() }),
        run({ instructions }, { state, finish }) {
          if (!state.isFiled) throw new ToolError("nothing was filed yet.");
          state.written = instructions;
          finish(instructions);
          return "written";
        },
      }),
    }),
    score: ({ state: { rule, written } }) => (written === stepsOf(rule) ? 1 : 0),
    expert: ({ state }) => ({ calls: [nextCall(state)] }),
    actions: ({ state }) =>
      [
        ...trays.map((tray) => ({ tray, stamp: state.tried?.stamp ?? stamps[0] })),
        ...stamps.map((stamp) => ({ tray: state.tried?.tray ?? trays[0], stamp })),
      ].map((filing) => ({ calls: [{ name: "file_request", arguments: filing }] })),
    limits: { turns: most + 2, turnTokens: 32 },
    format: compact(),
  });
}

/** Instructions without a file: what was found out is all there is. */
const stepsOf = (rule: FilingRule) => skillBody({ hasFile: false }, rule, "compact");

/** What was right stays, what was wrong is followed by the next. */
function nextCall({ rule, tried, isFiled }: OfficeTrialsState) {
  if (isFiled) return { name: "write_skill", arguments: { instructions: stepsOf(rule) } };
  const after = <Choice extends string>(choices: readonly Choice[], last: string | undefined, right: string): string =>
    last === right ? right : choices[(choices.indexOf(last as Choice) + 1) % choices.length];
  const next = { tray: after(trays, tried?.tray, rule.tray), stamp: after(stamps, tried?.stamp, rule.stamp) };
  return { name: "file_request", arguments: next };
}

/**
 * The skill that an episode of `officeTrials` ended with, for `saveSkill`: named after the kind of the request, described by its words. Undefined where none was
 * written.
 */
export function writtenSkill({ skill }: OfficeSkillsTask, turns: readonly Pick<Turn, "calls">[]): NewSkill | undefined {
  const calls = turns.flatMap((turn) => turn.calls);
  const call = calls.findLast(({ name, outcome }) => name === "write_skill" && outcome === "ok");
  if (call === undefined) return undefined;
  const { name, request } = officeSkillList[skill];
  return { name, description: request, body: String(call.arguments.instructions) };
}
