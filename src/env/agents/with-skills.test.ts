import { expect, test } from "vitest";
import { z } from "zod";
import { type Skill, tool } from "../../tool/index.ts";
import { call, make, play } from "../fixtures/scripted-episode.ts";
import { withContext } from "./with-context.ts";
import { withPermissions } from "./with-permissions.ts";
import { withSkills } from "./with-skills.ts";

const mail: Skill = { name: "mail", description: "Writes mails.", body: "Be polite.", folder: "/nowhere", files: [] };
const send = tool({ input: z.object({ text: z.string() }), run: () => "sent" });
const desk = make({ system: "You answer customers.", tools: { send } });

const systemOf = async (env: Parameters<typeof play>[0]) => {
  const [first] = (await play(env, [])).moves;
  return "role" in first ? first.messages[0] : undefined;
};

test("a context comes after the environment's own system message, or in its place", async () => {
  const system = (await systemOf(withContext(desk, "Use tabs.")))!;
  expect(system.content).toMatch(/^You answer customers\.\n\nUse tabs\./);
  expect(await systemOf(withContext(make(), "Use tabs."))).toEqual({ role: "system", content: "Use tabs." });
  expect(withContext(desk, "")).toBe(desk);
});

test("skills are told by name, and their instructions when they are activated", async () => {
  const env = withSkills(desk, [mail]);
  const system = (await systemOf(env))!;
  expect(system.content).toContain("- mail: Writes mails.");
  expect(system.content).not.toContain("Be polite.");
  const { turns } = await play(env, [call("activate_skill", { name: "mail" }), call("send", { text: "Hi" })]);
  expect(turns.map(({ observation }) => observation)).toEqual(["Be polite.", "sent"]);
});

test("permissions hold for the tools of skills too", async () => {
  const env = withPermissions(withSkills(desk, [mail]), { rules: [{ tool: "read_skill_file", decide: "deny" }] });
  const { turns } = await play(env, [call("read_skill_file", { skill: "mail", path: "x" })]);
  expect(turns[0].calls[0].outcome).toBe("denied");
});

test("environments that cannot have skills are refused", () => {
  expect(() => withSkills(make(), [mail])).toThrow("which has no tools");
  expect(() => withSkills(desk, [])).toThrow("no skills");
  expect(() => withSkills(withSkills(desk, [mail]), [mail])).toThrow('a tool "activate_skill" of its own');
});
