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
});

test("what several entry points export is told once, and linked from the others", () => {
  expect(pages["api/ludus-train.md"]).toContain("[`grpo`](train.md#grpo)");
  expect(pages["api/ludus-train.md"]).not.toContain("## grpo\n");
  expect(pages["api/ludus-train.md"]).toContain("## GrpoOptions\n");
});

test("what is private is not told", () => {
  const page = pages["api/ludus-env.md"];
  expect(page).toContain("class Episode<Data = unknown, State = unknown> {");
  expect(page).not.toMatch(/^ {2}(#|private )/m);
});
