import { join } from "node:path";
import { usageError } from "../parse-options.ts";

/** One value for each field that is varied, as text. */
export type Setting = Readonly<Record<string, string>>;

export interface SweepRun {
  readonly setting: Setting;
  readonly seed: number;
  /** Its folder. */
  readonly run: string;
}

/** Every combination of the values in `--set path=a,b,c`. */
export function gridOf(sets: readonly string[]): Setting[] {
  let grid: Setting[] = [{}];
  for (const set of sets) {
    const [path, values] = valuesOf(set);
    if (path === "seed") {
      throw usageError("bad-set", {
        got: `--set ${set}`,
        expected: "--seeds <n>: runs of one setting differ in their seed",
      });
    }
    if (grid.some((setting) => path in setting)) {
      const hint = `All values in one: --set ${path}=1,2,4.`;
      throw usageError("bad-set", { got: `--set ${path} twice`, expected: "each field once", hint });
    }
    grid = grid.flatMap((setting) => values.map((value) => ({ ...setting, [path]: value })));
  }
  return grid;
}

function valuesOf(set: string): [string, string[]] {
  const equals = set.indexOf("=");
  const [path, text] = [set.slice(0, Math.max(0, equals)).trim(), set.slice(equals + 1)];
  // commas within a JSON list belong to it
  const values = [...text.matchAll(/(\[[^\]]*\]|[^,[])+/g)].map(([value]) => value.trim());
  const isRight = path !== "" && values.length > 0 && values.every((value) => value !== "");
  if (!isRight || text.trim().startsWith(",") || text.trim().endsWith(",") || text.includes(",,")) {
    throw usageError("bad-set", {
      got: `--set ${set}`,
      expected: "path=value,value,…",
      hint: "As in --set algorithm.groupSize=4,8,16.",
    });
  }
  const repeated = values.find((value, i) => values.indexOf(value) !== i);
  if (repeated === undefined) return [path, values];
  throw usageError("bad-set", { got: `--set ${set} with ${repeated} twice`, expected: "each value once" });
}

/** As `--set` takes them. */
export function settingArguments(setting: Setting): string[] {
  return Object.entries(setting).map(([path, value]) => `${path}=${value}`);
}

/** `algorithm.groupSize=4, steps=10`; a sweep of seeds alone has one setting without a name. */
export function settingText(setting: Setting): string {
  return settingArguments(setting).join(", ") || "as in the file";
}

/** The runs of a sweep, a seed of every setting before the next seed, so that a sweep that is stopped has compared something. */
export function runsOf(
  grid: readonly Setting[],
  seeds: { readonly first: number; readonly count: number },
  folder: string,
): SweepRun[] {
  return Array.from({ length: seeds.count }, (_, i) => seeds.first + i).flatMap((seed) =>
    grid.map((setting) => ({ setting, seed, run: join(folder, folderName(setting), `seed-${seed}`) })),
  );
}

function folderName(setting: Setting): string {
  return (
    settingArguments(setting)
      .join(",")
      .replaceAll(/[^\w.=,+-]/g, "_") || "default"
  );
}
