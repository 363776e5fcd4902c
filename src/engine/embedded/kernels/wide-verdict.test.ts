import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { tiny } from "../../model/model-config.ts";

const hasWideVectors = Number.parseInt(process.versions.v8, 10) >= 13;
const { execPath, emitWarning } = process;
let folder: string;
let warnings: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-verdict-"));
  vi.stubEnv("XDG_CACHE_HOME", folder);
  vi.stubEnv("LUDUS_WIDE_KERNELS", undefined);
  warnings = [];
  process.emitWarning = (warning: string | Error) => void warnings.push(String(warning));
});

afterEach(() => {
  process.execPath = execPath;
  process.emitWarning = emitWarning;
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** As another process would find it. */
async function anew() {
  vi.resetModules();
  return await import("./wide-verdict.ts");
}

const brokenNode = () => {
  process.execPath = join(folder, "no-node");
};

describe.runIf(hasWideVectors)("the trial of wide vectors", () => {
  test("is made in a process of its own, once for a machine", async () => {
    const { wideVerdict } = await anew();
    const verdict = wideVerdict();
    expect([8, 16]).toContain(verdict?.panelWidth);
    expect(verdict?.tieringBudget).toBeGreaterThan(1000);
    // another process finds the verdict, and needs no trial
    brokenNode();
    expect((await anew()).wideVerdict()).toEqual(verdict);
    expect(warnings).toEqual([]);
  });

  test("that fails is said once, and kernels are compiled as they are", async () => {
    brokenNode();
    const { wideVerdict } = await anew();
    expect([wideVerdict(), wideVerdict()]).toEqual([undefined, undefined]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/without wide vectors.*no-node ENOENT/);
    const { compileKernels } = await import("./compile-kernels.ts");
    expect(compileKernels(tiny({ vocabularySize: 40 })).panelWidth).toBe(8);
    // a bad verdict is not kept: the next process may be luckier
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each(["", "{", '{"panelWidth":7,"tieringBudget":13000000}', '{"panelWidth":16}'])(
    "is made again where what was kept is %j",
    async (kept) => {
      await (await anew()).wideVerdict();
      const [file] = readdirSync(join(folder, "ludus"));
      writeFileSync(join(folder, "ludus", file), kept);
      brokenNode();
      expect((await anew()).wideVerdict()).toBeUndefined();
      expect(warnings).toHaveLength(1);
    },
  );
});

test("LUDUS_WIDE_KERNELS=0 leaves it out; another value than 0 and 1 is refused", async () => {
  brokenNode();
  vi.stubEnv("LUDUS_WIDE_KERNELS", "0");
  expect((await anew()).wideVerdict()).toBeUndefined();
  expect(warnings).toEqual([]);
  vi.stubEnv("LUDUS_WIDE_KERNELS", "off");
  const { wideVerdict } = await anew();
  expect(wideVerdict).toThrow("bad-environment: got LUDUS_WIDE_KERNELS=off, expected 0 or 1");
});

test("a V8 without the flags is not asked for them", async () => {
  const { readBudget } = await anew();
  const line = (flag: string, value: string) => `  ${flag} (what it does)\n        type: int  default: ${value}\n`;
  const flags = [
    line("--experimental-wasm-revectorize", "--no-experimental-wasm-revectorize"),
    line("--wasm-sync-tier-up", "--no-wasm-sync-tier-up"),
    line("--wasm-tiering-budget", "--wasm-tiering-budget=1800000"),
  ];
  expect(readBudget(flags.join(""))).toBe(1_800_000);
  for (const missing of flags) {
    const rest = flags.filter((flag) => flag !== missing).join("");
    expect(() => readBudget(rest)).toThrow(`V8 has no ${/--\S+/.exec(missing)![0]}.`);
  }
});
