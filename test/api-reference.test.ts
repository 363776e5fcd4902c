import { globSync, readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { apiPages } from "../scripts/api/api-pages.ts";
import { readApi } from "../scripts/api/read-api.ts";

// What can be imported is told by docs/reference/api.md. Out of date? `npm run docs`.
let pages: Readonly<Record<string, string>>;

beforeAll(() => {
  pages = apiPages(readApi(process.cwd()));
}, 120_000);

test("the reference is as the types are", () => {
  const written = globSync("docs/reference/{api.md,api/*.md}").map((path) => path.replace("docs/reference/", ""));
  expect(written.sort(), "run npm run docs").toEqual(Object.keys(pages).sort());
  const stale = written.filter((name) => readFileSync(`docs/reference/${name}`, "utf8") !== pages[name]);
  expect(stale, "run npm run docs").toEqual([]);
});

test("a signature has its types, its default and no body", () => {
  const page = pages["api/train.md"];
  expect(page).toContain("```ts\nfunction grpo(options: Partial<GrpoOptions> = {}): Algorithm\n```");
  expect(page).toContain("## GrpoOptions\n"); // not exported, and needed to call it
});

test("what is private is not told", () => {
  const page = pages["api/env.md"];
  expect(page).toContain("class Episode<Data = unknown, State = unknown> {");
  expect(page).not.toMatch(/^ {2}(#|private )/m);
});
