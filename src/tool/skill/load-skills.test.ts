import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bounds } from "../../bounds.ts";
import { callTool } from "../call-tool.ts";
import { fakeContext } from "../fake-context.ts";
import { loadSkills } from "./load-skills.ts";
import { skillsContext, skillTools } from "./skill-tools.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "ludus-skills-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(path: string, content: string | Uint8Array): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

const skill = (name: string, fields = "description: Does things.", body = "Do it.") =>
  write(`${name}/SKILL.md`, `---\nname: ${name}\n${fields}\n---\n${body}\n`);

describe("loading", () => {
  test("reads fields, body and names of files", async () => {
    skill(
      "pdf-forms",
      [
        "# a comment",
        'description: "Fills forms: in PDF files. \\u00e9"  # why',
        "license: 'Apache''s 2.0'",
        "compatibility: Needs python3",
        "  and pdftk",
        "metadata:",
        "  author: someone",
        '  version: "1.0"',
        "allowed-tools: Read  Bash(git:*)",
      ].join("\n"),
      "# Forms\n\n---\nRun it.",
    );
    write("pdf-forms/scripts/fill.py", "print(1)");
    write("pdf-forms/.cache", "");
    skill("a1", "description: >-\n  One line,\n  folded.\n\n  Next.");
    write("notes.txt", "no skill");
    write("empty/readme.md", "no skill either");
    symlinkSync("nowhere", join(root, "dangling"));
    const [first, second, ...more] = await loadSkills(root);
    expect(more).toEqual([]);
    expect(first).toMatchObject({ name: "a1", description: "One line, folded.\nNext.", body: "Do it.", files: [] });
    expect(second).toEqual({
      name: "pdf-forms",
      description: "Fills forms: in PDF files. é",
      license: "Apache's 2.0",
      compatibility: "Needs python3 and pdftk",
      metadata: { author: "someone", version: "1.0" },
      allowedTools: ["Read", "Bash(git:*)"],
      body: "# Forms\n\n---\nRun it.",
      folder: join(root, "pdf-forms"),
      files: ["scripts/fill.py"],
    });
    expect(await loadSkills(join(root, "a1"))).toEqual([first]);
  });

  test("lines may end as on Windows, and blocks keep their lines", async () => {
    write("crlf/SKILL.md", "---\r\nname: crlf\r\ndescription: |\r\n  One\r\n    two\r\n---\r\nBody\r\n");
    expect(await loadSkills(root)).toMatchObject([{ description: "One\n  two", body: "Body" }]);
  });

  const long = (length: number) => "x".repeat(length);
  const wrong: Readonly<Record<string, [string, string]>> = {
    "no frontmatter": ["Just text", "no frontmatter"],
    "a frontmatter without end": ["---\nname: bad", "no frontmatter"],
    "no name": ["---\ndescription: x\n---", 'no field "name"'],
    "no description": ["---\nname: bad\n---", 'no field "description"'],
    "an empty description": ['---\nname: bad\ndescription: ""\n---', '"description" of 0 characters'],
    "a long description": [`---\nname: bad\ndescription: ${long(1025)}\n---`, '"description" of 1025 characters'],
    "a long name": [`---\nname: ${long(65)}\ndescription: x\n---`, '"name" of 65 characters'],
    "capitals in the name": ["---\nname: Bad\ndescription: x\n---", 'the "name" "Bad"'],
    "two hyphens in the name": ["---\nname: b--d\ndescription: x\n---", 'the "name" "b--d"'],
    "a hyphen at the end": ["---\nname: bad-\ndescription: x\n---", 'the "name" "bad-"'],
    "another folder's name": ["---\nname: good\ndescription: x\n---", "the name of its folder, bad"],
    "long compatibility": [
      `---\nname: bad\ndescription: x\ncompatibility: ${long(501)}\n---`,
      '"compatibility" of 501',
    ],
    "a misspelt field": ["---\nname: bad\ndescripton: x\n---", 'Did you mean "description"?'],
    "a field twice": ["---\nname: bad\nname: bad\n---", "SKILL.md:3"],
    "metadata that is text": ["---\nname: bad\ndescription: x\nmetadata: y\n---", 'as "metadata"'],
    "a list": ["---\nname: bad\ndescription: x\nallowed-tools: [Read]\n---", 'the field "allowed-tools"'],
    "lines of a list": ["---\nname: bad\ndescription: x\nallowed-tools:\n  - Read\n---", 'the field "allowed-tools"'],
    "a colon that needs quotes": ["---\nname: bad\ndescription: Use: this\n---", "Put it in quotes."],
    "a quote that is open": ['---\nname: bad\ndescription: "x\n---', 'a closing "'],
    "an indented field": ["---\n name: bad\n---", "not indented"],
    "a nested map": ["---\nname: bad\ndescription: x\nmetadata:\n  a:\n    b: c\n---", "one indentation"],
  };
  for (const [which, [content, said]] of Object.entries(wrong)) {
    test(`${which} is an error that names the file and the field`, async () => {
      write("bad/SKILL.md", content);
      const error: unknown = await loadSkills(root).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "bad-skill" });
      expect(String(error)).toContain(said);
      expect(String(error)).toContain(join("bad", "SKILL.md"));
    });
  }

  test("folders that cannot be meant are refused", async () => {
    await expect(loadSkills(join(root, "none"))).rejects.toThrow("bad-skill");
    await expect(loadSkills(root)).rejects.toThrow("no skill");
    write("lower/skill.md", "");
    await expect(loadSkills(root)).rejects.toThrow("the name SKILL.md");
  });

  test("a SKILL.md that is a link to the outside, too large or no text is refused", async () => {
    write("secret", "---\nname: s\n---");
    mkdirSync(join(root, "skills/s"), { recursive: true });
    symlinkSync("../../secret", join(root, "skills/s/SKILL.md"));
    await expect(loadSkills(join(root, "skills"))).rejects.toThrow("file-path-refused");
    write("large/l/SKILL.md", "x".repeat(bounds.skillFileBytes + 1));
    await expect(loadSkills(join(root, "large"))).rejects.toThrow("file-too-large");
    write("bytes/b/SKILL.md", new Uint8Array([0xff, 0xff]));
    await expect(loadSkills(join(root, "bytes"))).rejects.toThrow("file-not-text");
  });
});

describe("disclosure", () => {
  async function asked(name: string, args: Readonly<Record<string, unknown>>) {
    const tools = skillTools(await loadSkills(join(root, "skills")));
    const result = await callTool(tools, { name, arguments: args }, fakeContext({}), {
      toolMs: 5_000,
      observationChars: 5_000,
    });
    return result.kind === "observed" ? [result.record.outcome, result.record.observation] : result;
  }

  beforeEach(() => {
    write("secret.txt", "key");
    write("skills/mail/SKILL.md", "---\nname: mail\ndescription: Writes\n  mails.\n---\nBe polite.");
    write("skills/mail/references/tone.md", "Warm.");
    write("skills/mail/data.bin", new Uint8Array([0xff, 0xff]));
    write("skills/plain/SKILL.md", "---\nname: plain\ndescription: Nothing.\n---\n");
  });

  test("names and descriptions are in the context, instructions are not", async () => {
    const context = skillsContext(await loadSkills(join(root, "skills")));
    expect(context).toContain("- mail: Writes mails.\n- plain: Nothing.");
    expect(context).not.toContain("polite");
  });

  test("a skill is activated, and its files are read", async () => {
    const files = "Files of this skill, for read_skill_file: data.bin, references/tone.md";
    expect(await asked("activate_skill", { name: "mail" })).toEqual(["ok", `Be polite.\n\n${files}`]);
    expect(await asked("activate_skill", { name: "plain" })).toEqual(["ok", ""]);
    expect(await asked("read_skill_file", { skill: "mail", path: "references/tone.md" })).toEqual(["ok", "Warm."]);
  });

  test("what there is not is told with the nearest", async () => {
    expect(await asked("activate_skill", { name: "mial" })).toEqual([
      "error",
      'Error: there is no skill "mial". Did you mean "mail"? Skills: mail, plain.',
    ]);
    const [outcome, said] = (await asked("read_skill_file", { skill: "mail", path: "references/tune.md" })) as string[];
    expect([outcome, said.includes('Did you mean "references/tone.md"?')]).toEqual(["error", true]);
    expect(await asked("read_skill_file", { skill: "mail", path: "references" })).toMatchObject([
      "error",
      expect.stringContaining("no file"),
    ]);
    expect(await asked("read_skill_file", { skill: "mail", path: "data.bin" })).toMatchObject([
      "error",
      expect.stringContaining("no text file"),
    ]);
  });

  test("paths out of the folder are refused, also through links", async () => {
    symlinkSync(join(root, "secret.txt"), join(root, "skills/mail/link.txt"));
    symlinkSync("../..", join(root, "skills/mail/up"));
    symlinkSync("references/tone.md", join(root, "skills/mail/inside.md"));
    for (const path of [
      "../../secret.txt",
      join(root, "secret.txt"),
      "link.txt",
      "up/secret.txt",
      "..",
      "..\\x",
      "",
      "a\0b",
    ]) {
      const said = await asked("read_skill_file", { skill: "mail", path });
      expect(said, path).toEqual(["error", `Error: ${JSON.stringify(path)} is outside of the skill mail.`]);
    }
    expect(await asked("read_skill_file", { skill: "mail", path: "inside.md" })).toEqual(["ok", "Warm."]);
    const [{ files }] = await loadSkills(join(root, "skills/mail"));
    expect(files).toEqual(["data.bin", "inside.md", "references/tone.md"]);
  });
});
