import type { Env } from "../env.ts";
import type { Findings } from "./findings.ts";

/** What people and policies are told of an environment. */
export function checkWords({ name, description, tools = {} }: Env, findings: Findings): void {
  if (description.trim() === "" || description === name)
    findings.add("no-description", `the description of ${name} is its name`);
  for (const [tool, { spec }] of Object.entries(tools)) {
    if (spec.description.trim() === "") findings.add("tool-without-description", `the tool "${tool}"`, tool);
  }
}
