import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { actionTools } from "./action-tools.ts";
import { tools } from "./commands/tools.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-action-tools-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const timeoutMs = 1000;
const silent = { stdout: { write: () => {} }, stderr: { write: () => {} } };

describe("tools of a command line", () => {
  test("are those that were named, once each", async () => {
    const documents = join(folder, "pages.jsonl");
    writeFileSync(documents, '{"title": "Tea", "text": "green"}\n\n{"text": "coffee"}\n');
    const made = await actionTools({ names: ["shell", "search", "shell", "python"], timeoutMs, documents });
    expect(made.map(({ name }) => name)).toEqual(["shell", "search", "python"]);
  });

  test.each([
    ["no tools", { names: [] }, "--tool python"],
    ["sql without a database", { names: ["sql"] }, "--database"],
    ["search without documents", { names: ["search"] }, "--documents"],
    ["a database that is not there", { names: ["sql"], database: join(folder, "none.db") }, "ENOENT"],
  ] as const)("%s is a wrong usage that says what is needed", async (_, options, text) => {
    await expect(actionTools({ timeoutMs, ...options })).rejects.toThrow(text);
  });

  test("documents that are no JSON are named by their line", async () => {
    const documents = join(folder, "broken.jsonl");
    writeFileSync(documents, '{"text": "a"}\n{"title": 1}\n');
    await expect(actionTools({ names: ["search"], timeoutMs, documents })).rejects.toThrow("line 2");
  });

  test("the command wants `serve` and a tool", async () => {
    await expect(tools.run(["start"], silent)).rejects.toThrow("expected serve");
    await expect(tools.run(["serve", "--tool", "pyton"], silent)).rejects.toThrow('Did you mean "python"');
    await expect(tools.run(["serve"], silent)).rejects.toThrow("no tools");
  });
});
