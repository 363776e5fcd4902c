import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadSkills } from "../../tool/skill/load-skills.ts";
import { saveSkill } from "../../tool/skill/save-skill.ts";
import { checkEnv } from "../check-env.ts";
import { filingRules, officeSkillList } from "./office-skill-list.ts";
import { officeSkillFor, officeSkills } from "./office-skills.ts";
import { officeTrials, writtenSkill } from "./office-trials.ts";
import { playEpisode } from "./testing/play-episode.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-office-"));
afterAll(() => rmSync(folder, { recursive: true }));

const data = { skill: 0, revision: 7, order: "K10" };
const task = { id: "t", seed: 0, data };
const { tray, stamp } = filingRules(7)[0];
const [otherTray, otherStamp] = [tray === "A1" ? "A2" : "A1", stamp === "red" ? "blue" : "red"];

test("what is wrong about a filing comes back, until it is filed and written down", async () => {
  const { heard, scores, stop } = await playEpisode(officeTrials(), task, [
    "write_skill anything",
    `file_request ${otherTray} ${otherStamp}`,
    `file_request ${tray} ${otherStamp}`,
    `file_request ${otherTray} ${stamp}`,
    `file_request ${tray} ${stamp}`,
    `file_request ${tray} ${stamp}`,
    `write_skill tray ${tray}, stamp ${stamp}`,
  ]);
  expect(heard).toEqual([
    "K10: I want my money back.",
    expect.stringContaining("nothing was filed yet"),
    "wrong tray, stamp",
    "wrong stamp",
    "wrong tray",
    "filed",
    expect.stringContaining("filed already"),
  ]);
  expect([scores.agent.success, stop]).toEqual([true, "completed"]);
});

test.each(["write_skill tray A1, stamp pink", "write_skill A1 red", "file_request A1 red"])(
  "a request that is filed, and then %j, is no success",
  async (said) => {
    const { scores } = await playEpisode(officeTrials(), task, [`file_request ${tray} ${stamp}`, said]);
    expect(scores.agent.success).toBe(false);
  },
);

test("the expert finds out every rule in time", async () => {
  const env = officeTrials();
  for (let index = 0; index < 60; index++) {
    const { scores } = await playEpisode(env, await env.tasks.at("train", index), "expert");
    expect(scores.agent.success).toBe(true);
  }
});

test("a skill that one wrote is a file that another uses", async () => {
  const { turns } = await playEpisode(officeTrials(), task, "expert");
  await saveSkill(folder, writtenSkill(data, turns)!);
  const library = await loadSkills(folder);
  expect(library).toMatchObject([officeSkillFor(data)]);
  const shared = { ...task, data: { ...data, order: "L20", library } };
  const says = ["activate_skill refunds", `file_request ${tray} ${stamp}`];
  const { heard, scores } = await playEpisode(officeSkills(), shared, says);
  expect(heard).toEqual(["refunds: I want my money back\nL20: I want my money back.", `tray ${tray}, stamp ${stamp}`]);
  expect(scores.agent.success).toBe(true);
  const expert = await playEpisode(officeSkills(), shared, "expert");
  expect(expert.turns.map(({ text }) => text)).toEqual(says);
  const told = await playEpisode(officeSkills({ skills: "everything" }), shared, "expert");
  expect(told.heard).toEqual([
    `refunds: I want my money back: tray ${tray}, stamp ${stamp}\nL20: I want my money back.`,
  ]);
  expect(told.scores.agent.success).toBe(true);
});

test("an episode that wrote nothing has no skill, and an empty library says so", async () => {
  const { turns } = await playEpisode(officeTrials(), task, ["write_skill too early"]);
  expect(writtenSkill(data, turns)).toBeUndefined();
  const { heard } = await playEpisode(officeSkills(), { ...task, data: { ...data, library: [] } }, [
    "activate_skill refunds",
    "read_skill_file refunds trays.md",
  ]);
  expect(heard[0]).toBe("no skills\nK10: I want my money back.");
  expect(heard.slice(1).join()).toMatch(/There are none.*There are none/s);
  const told = await playEpisode(
    officeSkills({ skills: "everything" }),
    { ...task, data: { ...data, library: [] } },
    [],
  );
  expect(told.heard[0]).toBe("no skills\nK10: I want my money back.");
});

test("kinds are some of the 20", async () => {
  for (const env of [officeTrials({ kinds: ["visas", "mail"] }), officeSkills({ kinds: ["visas", "mail"] })]) {
    const drawn = await Promise.all(Array.from({ length: 40 }, async (_, i) => (await env.tasks.at("train", i)).data));
    expect(new Set(drawn.map(({ skill }) => officeSkillList[skill].name))).toEqual(new Set(["visas", "mail"]));
  }
  expect(() => officeTrials({ kinds: ["visa"] })).toThrow('Did you mean "visas"?');
  expect(() => officeSkills({ kinds: [] })).toThrow("one or more of refunds");
  expect(() => officeTrials({ kind: ["visas"] } as never)).toThrow('did you mean "kinds"?');
});

test("keeps the promises of environments", async () => {
  expect((await checkEnv(officeTrials(), { tasks: 2, timeoutMs: 10_000 })).findings).toEqual([]);
});
