import { LudusError } from "../../errors.ts";
import type { Skill } from "../../tool/skill/load-skills.ts";
import { skillsContext, skillTools } from "../../tool/skill/skill-tools.ts";
import type { Tool } from "../../tool/tool.ts";
import type { Env } from "../env.ts";
import { withContext } from "./with-context.ts";

/**
 * The environment with skills: their names and descriptions in the system message, their instructions and files when the policy
 * asks for them.
 */
export function withSkills<Data, State>(env: Env<Data, State>, skills: readonly Skill[]): Env<Data, State> {
  if (env.tools === undefined || skills.length === 0) {
    const got = skills.length === 0 ? "no skills" : `${env.name}, which has no tools`;
    const hint = "The format of an environment without tools need not have calls: define it with `tools: {}`.";
    throw new LudusError("bad-skill", { got, expected: "an environment with tools, and at least one skill", hint });
  }
  const added: Readonly<Record<string, Tool<State>>> = skillTools(skills);
  const taken = Object.keys(added).find((name) => Object.hasOwn(env.tools ?? {}, name));
  if (taken !== undefined) {
    throw new LudusError("bad-skill", {
      got: `${env.name} with a tool "${taken}" of its own`,
      expected: "another name",
    });
  }
  return withContext({ ...env, tools: { ...env.tools, ...added } }, skillsContext(skills));
}
