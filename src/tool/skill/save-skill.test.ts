import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bounds } from "../../bounds.ts";
import { loadSkills } from "./load-skills.ts";
import { saveSkill, skillText } from "./save-skill.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "ludus-save-skill-"));
});
afterEach(() => rmSync(root, { recursive: true }));

test("a skill that was saved is loaded again", async () => {
  const skill = { name: "refunds", description: "Use for: money back", body: "tray A1, stamp red" };
  const folder = await saveSkill(root, skill);
  expect(folder).toBe(join(root, "refunds"));
  expect(readFileSync(join(folder, "SKILL.md"), "utf8")).toBe(
    '---\nname: refunds\ndescription: "Use for: money back"\n---\ntray A1, stamp red\n',
  );
  expect(await loadSkills(root)).toEqual([{ ...skill, folder, files: [] }]);
});

test.each(['say "yes"', "a: b # c", "- list", "é \\ \u2028 \u0085", "two\nlines", "---"])(
  "the description %j stays as it is",
  async (description) => {
    await saveSkill(root, { name: "a-1", description, body: "---\nname: other\n---" });
    expect(await loadSkills(root)).toMatchObject([{ name: "a-1", description, body: "---\nname: other\n---" }]);
  },
);

test.each([
  ["no name", { name: "" }, "name"],
  ["a path as a name", { name: "../up" }, "small letters"],
  ["a name of two lines", { name: "a\nlicense: x" }, "bad-skill"],
  ["capitals", { name: "Refunds" }, "small letters"],
  ["a long name", { name: "x".repeat(65) }, "65 characters"],
  ["no description", { description: " " }, "0 characters"],
  ["a long description", { description: "x".repeat(1025) }, "1025 characters"],
  ["no body", { body: undefined as unknown as string }, "undefined as its body"],
  ["a body that is too long", { body: "x".repeat(bounds.skillFileBytes) }, "at most"],
])("%s is refused, and nothing is written", async (_, changes, said) => {
  const skill = { name: "refunds", description: "Money back", body: "tray A1", ...changes };
  expect(() => skillText(skill)).toThrow(said);
  await expect(saveSkill(root, skill)).rejects.toThrow("bad-skill");
  await expect(loadSkills(root)).rejects.toThrow("no skill");
});

test("a skill that is there is not replaced, and a folder that is none is named", async () => {
  const skill = { name: "refunds", description: "Money back", body: "tray A1" };
  await saveSkill(root, skill);
  await expect(saveSkill(root, { ...skill, body: "tray B2" })).rejects.toThrow("cannot-write");
  expect((await loadSkills(root))[0].body).toBe("tray A1");
  symlinkSync("nowhere", join(root, "other"));
  await expect(saveSkill(join(root, "refunds", "SKILL.md"), skill)).rejects.toThrow("cannot-write");
});
