import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bounds } from "../bounds.ts";
import { agentsFile } from "./agents-file.ts";
import { processSandbox } from "./sandbox/process-sandbox.ts";

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "ludus-agents-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(files: Readonly<Record<string, string | Uint8Array>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

const pathsFor = async (path: string, options = {}) =>
  (await agentsFile(join(root, path), { root, ...options })).sources.map((source) => source.path);

const project = {
  "AGENTS.md": "Use tabs.\n",
  "packages/web/AGENTS.md": "Use spaces.",
  "packages/web/src/page.ts": "",
  "packages/api/main.ts": "",
  "packages/other/AGENTS.md": "Not for web.",
};

describe("a folder", () => {
  test("gives the files from the root to the path, the nearest last", async () => {
    write(project);
    const { text, sources } = await agentsFile(join(root, "packages/web/src/page.ts"), { root });
    expect(sources).toEqual([
      { path: "AGENTS.md", text: "Use tabs.\n" },
      { path: "packages/web/AGENTS.md", text: "Use spaces." },
    ]);
    expect(text).toContain("the last one counts");
    expect(text.endsWith("# AGENTS.md\n\nUse tabs.\n\n# packages/web/AGENTS.md\n\nUse spaces.")).toBe(true);
    expect(await pathsFor("packages/api/main.ts")).toEqual(["AGENTS.md"]);
  });

  test("takes the nearest alone where that is asked for, also for files and folders that are not there yet", async () => {
    write(project);
    expect(await pathsFor("packages/web", { take: "nearest" })).toEqual(["packages/web/AGENTS.md"]);
    expect(await pathsFor("packages/web/new/deep.ts", { take: "nearest" })).toEqual(["packages/web/AGENTS.md"]);
    expect(await pathsFor("packages/api", { take: "nearest" })).toEqual(["AGENTS.md"]);
  });

  test("ends at the repository where no root is given, and else looks at one folder alone", async () => {
    write({ ...project, "packages/web/.git/HEAD": "" });
    const found = await agentsFile(join(root, "packages/web/src"));
    expect(found.sources.map(({ path }) => path)).toEqual(["AGENTS.md"]);
    expect(found.text).toBe("Instructions of this project.\n\n# AGENTS.md\n\nUse spaces.");
    expect(await agentsFile(join(root, "packages/api"))).toEqual({ text: "", sources: [] });
    expect(await agentsFile(join(root, "none/at/all.ts"))).toEqual({ text: "", sources: [] });
  });

  test("an empty file says nothing, and hides none above it", async () => {
    write({ ...project, "packages/web/AGENTS.md": " \n" });
    expect(await pathsFor("packages/web", { take: "nearest" })).toEqual(["AGENTS.md"]);
  });

  test("a link may name another file of the root, not one outside", async () => {
    write({ "in/CLAUDE.md": "Same rules.", "secret.md": "key" });
    symlinkSync("CLAUDE.md", join(root, "in/AGENTS.md"));
    const options = { root: join(root, "in") };
    expect((await agentsFile(join(root, "in"), options)).sources).toMatchObject([{ text: "Same rules." }]);
    rmSync(join(root, "in/AGENTS.md"));
    symlinkSync("../secret.md", join(root, "in/AGENTS.md"));
    await expect(agentsFile(join(root, "in"), options)).rejects.toThrow("file-path-refused");
  });

  test("what cannot be read as meant is refused", async () => {
    write(project);
    await expect(agentsFile(tmpdir(), { root })).rejects.toThrow("bad-agents-file");
    await expect(agentsFile(root, { root: join(root, "none") })).rejects.toThrow("bad-agents-file");
    await expect(agentsFile(root, { root, take: "first" as "all" })).rejects.toThrow("take");
    await expect(agentsFile(root, { rot: "." } as object)).rejects.toThrow('did you mean "root"?');
    write({ "AGENTS.md": new Uint8Array([0xff, 0xfe, 0xff]) });
    await expect(agentsFile(root, { root })).rejects.toThrow("file-not-text");
    write({ "AGENTS.md": "x".repeat(bounds.agentsFileBytes - 5) });
    await expect(agentsFile(join(root, "packages/web"), { root })).rejects.toThrow(
      "bytes in AGENTS.md, packages/web/AGENTS.md",
    );
    write({ "AGENTS.md": "x".repeat(bounds.agentsFileBytes + 1) });
    await expect(agentsFile(root, { root })).rejects.toThrow("file-too-large");
  });
});

describe("a box", () => {
  test("whose AGENTS.md leads out of it has none", async () => {
    const box = await processSandbox().open();
    try {
      await box.exec("ln", { args: ["-s", "/etc/passwd", "AGENTS.md"] });
      expect(await agentsFile("main.ts", { box })).toEqual({ text: "", sources: [] });
    } finally {
      await box.close();
    }
  });

  test("is searched like a folder, from its root", async () => {
    const box = await processSandbox().open({ files: project });
    try {
      const { sources } = await agentsFile("packages/web/src/page.ts", { box });
      expect(sources.map(({ path }) => path)).toEqual(["AGENTS.md", "packages/web/AGENTS.md"]);
      expect((await agentsFile("packages/web", { box, take: "nearest" })).sources).toMatchObject([
        { text: "Use spaces." },
      ]);
      expect((await agentsFile(".", { box })).sources).toHaveLength(1);
      await expect(agentsFile("../..", { box })).rejects.toThrow("bad-agents-file");
      await expect(agentsFile("/etc", { box })).rejects.toThrow("bad-agents-file");
      await expect(agentsFile(".", { box, root })).rejects.toThrow("option-without-effect");
    } finally {
      await box.close();
    }
  });
});
