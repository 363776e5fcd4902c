import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { merge, readPage, writePage } from "../scripts/new-user/page.ts";
import { User } from "../scripts/new-user/user.ts";

// scripts/new-user.ts is run by hand: minutes. Here is what it would not notice of itself.

const home = mkdtempSync(join(tmpdir(), "ludus-new-user-test-"));
afterAll(() => rmSync(home, { recursive: true }));

test("parts that are not recorded anew stay as they were, in their order", () => {
  const text = "```text\n$ ls\n## not a title\n```";
  const old = [
    { title: "A", ms: 1500, text: "one" },
    { title: "C", ms: 125_000, text: "```text\n$ ls\n```\n\nA note." },
  ];
  const page = writePage({ head: "# Head\n\nWords.", recordings: old });
  expect(page).toContain("| C | 2 min 5 s |\n| together | 2 min 7 s |\n\n## A\n\none\n\n## C\n");
  expect(readPage(page)).toEqual({ head: "# Head\n\nWords.", recordings: old });
  const made = [{ title: "B", ms: 100, text }];
  const { head, recordings } = readPage(page);
  const merged = merge(recordings, made, ["A", "B", "C"]);
  expect(merged).toEqual([old[0], made[0], old[1]]);
  expect(readPage(writePage({ head, recordings: merged })).recordings).toEqual(merged);
});

test.each([
  ["an exit status", { say: "exit 3" }, /^exit 3: expected exit status 0, got 3/],
  ["an expected failure that did not come", { say: "true", status: 1 }, /expected exit status 1, got 0/],
  ["a text", { say: "echo hello", expect: [/bye/] }, /expected an answer that matches \/bye\/\. It answered:\nhello/],
  ["a text that would be cut off", { say: "seq 9", lines: 3, expect: [/^5$/m] }, /among the lines that are kept/],
  ["more than one line", { say: "seq 2", oneLine: true }, /expected one line, got 2/],
])("a step checks %s", async (_, step, message) => {
  await expect(new User(home, {}).does([{ in: ".", ...step }])).rejects.toThrow(message);
});

test("what was expected is written down, without paths and ports of the machine", async () => {
  const user = new User(home, { [process.execPath]: "node" });
  const say = `echo "${process.execPath} $PWD http://127.0.0.1:4321/?token=abc"; exit 2`;
  await user.does([{ in: ".", say, status: 2, oneLine: true }]);
  const { text } = user.recording("A");
  expect(text).toMatch(/\nnode ~ http:\/\/127\.0\.0\.1:<port>\/\?token=…\n\(exit status 2/);
});
