import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterAll, expect, test, vi } from "vitest";
import { readPages } from "./docs/pages.ts";

// The program of docs/how-to/production.md, from the first recorded session to the promotion.
const folder = resolve(`.scratch/production-${process.pid}`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the walk-through records, learns, compares and promotes", { timeout: 120_000 }, async () => {
  const page = readPages().find(({ path }) => path === "docs/how-to/production.md")!;
  const program = page.blocks.find(({ text }) => text.startsWith("// production.ts"))!;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/production.ts`, program.text);
  const lines: string[] = [];
  const log = vi.spyOn(console, "log").mockImplementation((line) => void lines.push(String(line)));
  const error = vi.spyOn(console, "error").mockImplementation((line) => void lines.push(`problem: ${line}`));
  await import(`${folder}/production.ts`).finally(() => {
    log.mockRestore();
    error.mockRestore();
  });
  expect(lines).toEqual([
    expect.stringMatching(/^kept \d{3} episodes with feedback and \d{3} without; forgot [1-9]\d*$/),
    expect.stringMatching(/^learned from [1-9]\d* episodes$/),
    expect.stringMatching(/^shadow: promote, 0\.\d\d \(0\.\d\d to \d\.\d\d\) over \d+ episodes$/),
    expect.stringMatching(/^canary: promoted, 0\.\d\d \(0\.\d\d to \d\.\d\d\)$/),
  ]);
});
