import { expect, test } from "vitest";
import { runCommand } from "../testing/run-command.ts";

const small = ["--size", "tiny", "--sequences", "2", "--tokens", "4", "--rounds", "1"];

test("tells how fast the machine samples and trains", async () => {
  const { status, stdout } = await runCommand(["bench", ...small, "--json"]);
  expect(status).toBe(0);
  const [measured] = JSON.parse(stdout);
  expect(measured).toMatchObject({ size: "tiny", parameters: expect.any(Number) });
  expect(measured.sampleTokensPerSecond).toBeGreaterThan(0);
  expect(measured.trainTokensPerSecond).toBeGreaterThan(0);
  const { stdout: table } = await runCommand(["bench", ...small]);
  expect(table).toMatch(/^size +parameters +sampled tokens\/s +trained tokens\/s\ntiny +0\.\dM +[\d,]+ +[\d,]+\n$/);
});

test("names a size there is not", async () => {
  const { status, stderr } = await runCommand(["bench", "--size", "huge"]);
  expect(status).toBe(2);
  expect(stderr).toContain("tiny, small, base");
});

test("refuses what it does not know what to do with", async () => {
  const { status, stderr } = await runCommand(["bench", "tiny"]);
  expect(status).toBe(2);
  expect(stderr).toBe("bad-usage: got tiny, expected options alone, such as --size tiny. See ludus bench --help.\n");
});
