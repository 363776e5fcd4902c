import { expect, test } from "vitest";
import { Episode } from "../episode.ts";
import { officeSkillList } from "./office-skill-list.ts";
import { type OfficeSkillsOptions, officeSkills } from "./office-skills.ts";

const { signal } = new AbortController();
const tasks = 100;

/** What the expert reads and how often it succeeds. */
async function played(
  options: Partial<OfficeSkillsOptions>,
): Promise<{ success: number; chars: number; turns: number }> {
  const env = officeSkills(options);
  let [success, chars, turns] = [0, 0, 0];
  for (let index = 0; index < tasks; index++) {
    const episode = new Episode(env, await env.tasks.at("test", index), { signal });
    let move = await episode.start();
    while ("role" in move) {
      chars += move.messages.reduce((sum, { content }) => sum + content.length, 0);
      turns++;
      move = await episode.step(episode.expertSays()!);
    }
    if ((await episode.finish(move)).scores.agent.success) success++;
  }
  return { success: success / tasks, chars: chars / tasks, turns: turns / tasks };
}

test("there are 20 skills, each asked for in other words than its name", () => {
  expect(new Set(officeSkillList.map(({ name }) => name)).size).toBe(20);
  for (const { name, request } of officeSkillList) expect(request).not.toContain(name);
});

test.each(["compact", "tags"] as const)(
  "disclosed step by step, less is read than with everything told (%s)",
  async (style) => {
    const disclosed = await played({ style });
    const everything = await played({ style, skills: "everything" });
    expect([disclosed.success, everything.success]).toEqual([1, 1]);
    expect(everything.turns).toBe(1);
    expect(disclosed.turns).toBeGreaterThan(2);
    expect(disclosed.chars).toBeLessThan((style === "tags" ? 0.35 : 0.6) * everything.chars);
  },
);

async function run(options: Partial<OfficeSkillsOptions>, ...says: readonly string[]) {
  const env = officeSkills(options);
  const task = await env.tasks.at("train", 0);
  const episode = new Episode(env, task, { signal });
  let move = await episode.start();
  const told: string[] = [];
  for (const say of says) {
    if (!("role" in move)) break;
    move = await episode.step(say);
    if ("role" in move) told.push(...move.messages.map(({ content }) => content));
  }
  return told;
}

test("a skill or a file that is not there is told, and the nearest named", async () => {
  const told = await run(
    {},
    "activate_skill refund",
    "read_skill_file mail trays.md",
    "read_skill_file refunds tray.md",
  );
  expect(told[0]).toContain('Did you mean "refunds"?');
  expect(told[1]).toContain("has no files");
  expect(told[2]).toContain("the skill refunds has trays.md");
});

test("hidden skills are nowhere, and everything told has no tools to ask with", async () => {
  const [hidden, everything] = [officeSkills({ skills: "hidden" }), officeSkills({ skills: "everything" })];
  const task = await hidden.tasks.at("train", 0);
  const { messages } = (await hidden.opening!(task))!;
  expect(JSON.stringify(messages)).not.toMatch(/tray [ABC]/);
  expect(Object.keys(hidden.tools!)).toEqual(["file_request"]);
  expect(Object.keys(everything.tools!)).toEqual(["file_request"]);
});

test("the rules change from task to task", async () => {
  const env = officeSkills({ skills: "everything" });
  const systems = await Promise.all(
    [0, 1, 2].map(async (index) => env.system!((await env.tasks.at("train", index)).data, "agent")),
  );
  expect(new Set(systems).size).toBe(3);
});

test("unknown values are refused", () => {
  expect(() => officeSkills({ skills: "hiden" as "hidden" })).toThrow('Did you mean "hidden"?');
  expect(() => officeSkills({ skill: "hidden" } as never)).toThrow('did you mean "skills"?');
});
