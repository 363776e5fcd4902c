import { expect, test } from "vitest";
import { sweRl } from "./swe-rl.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const edit = (replace: string) =>
  `<think>a</think><solution>\`\`\`python\n### a.py\n<<<<<<< SEARCH\nreturn a - b\n=======\n${replace}\n>>>>>>> REPLACE\n\`\`\`</solution>`;

test("1 for the same patch, less for another, -1 for a broken format", async () => {
  const reward = sweRl(() => ({ files: { "a.py": "return a - b\n" }, goldFiles: { "a.py": "return a + b\n" } }));
  const scoreOf = async (text: string) => reward(fakeEpisode({}, [text]));
  expect(await scoreOf(edit("return a + b"))).toMatchObject({ total: 1, success: true });
  const other = await scoreOf(edit("return b + a"));
  expect(other.total).toBeGreaterThan(0.5);
  expect(other.success).toBe(false);
  expect(await scoreOf("return a + b")).toMatchObject({ total: -1, success: false });
});
