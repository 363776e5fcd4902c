import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { runProcess } from "./sandbox/run-process.ts";

const program = fileURLToPath(new URL("./fixtures/stray-program.ts", import.meta.url));
const run = (...args: string[]) => runProcess({ command: process.execPath, args: [program, ...args] });

test("a rejected promise that a tool left behind is a warning, once for each tool", async () => {
  const { stderr, ...rest } = await run();
  expect(rest).toMatchObject({ kind: "exited", code: 0, stdout: "fine\nwent on\n" });
  expect(stderr.match(/LudusWarning/g)).toHaveLength(1);
  expect(stderr).toMatch(/\[stray-rejection\] LudusWarning: Tool "leave" left a promise behind .*Error: at once/);
});

test("any other still ends the program, as without tools", async () => {
  const ended = await run("own");
  expect(ended).toMatchObject({ kind: "exited", code: 1, stdout: "fine\n" });
  expect(ended.stderr).toContain("RangeError: our own");
});
