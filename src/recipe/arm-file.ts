import { appendFileSync, existsSync, readFileSync, truncateSync } from "node:fs";
import { dirname } from "node:path";
import { z } from "zod";
import { errorText, LudusError } from "../errors.ts";
import { makeFolder } from "../make-folder.ts";
import type { ArmRecord } from "./claim.ts";
import type { Kept } from "./run-recipe.ts";

const lineEnd = "\n".charCodeAt(0);
const numbers = z.record(z.string(), z.number());

const Line = z.union([
  z.object({ seed: z.int(), whole: z.literal(true) }),
  z.object({
    seed: z.int(),
    arm: z.string(),
    measures: numbers,
    tasks: z.record(z.string(), z.object({ of: z.string(), values: z.array(z.number()) })).optional(),
    curves: z.record(z.string(), z.array(z.number())).optional(),
    seconds: z.number(),
    about: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
  }),
]);

/**
 * What a file of arms holds, one JSON object a line: arms, each once, the last one where there are several, and seeds that are whole. The last
 * line may be cut off, by a kill or a full disk: it is left out.
 */
export function readArms(file: string): Kept {
  if (!existsSync(file)) return { arms: [], wholeSeeds: [] };
  const lines = readFileSync(file, "utf8").split("\n");
  const isCutOff = (index: number) => index === lines.length - 1;
  const read = lines.flatMap((line, index) => {
    if (line === "") return [];
    try {
      return [Line.parse(JSON.parse(line))];
    } catch (error) {
      if (isCutOff(index)) return [];
      throw new LudusError("bad-file", {
        got: `line ${index + 1} of ${file}: ${line.slice(0, 80)}`,
        expected: "an arm as ludus recipe run keeps it",
        hint: "Remove the line, or name another file with --records.",
        cause: error,
      });
    }
  });
  const arms = read.filter((line): line is typeof line & ArmRecord => "arm" in line);
  const byName = new Map(arms.map((arm) => [`${arm.seed} ${arm.arm}`, arm]));
  return { arms: [...byName.values()], wholeSeeds: read.flatMap((line) => ("whole" in line ? [line.seed] : [])) };
}

function dropCutOff(file: string): void {
  if (!existsSync(file)) return;
  const bytes = readFileSync(file);
  if (bytes.length > 0 && bytes.at(-1) !== lineEnd) truncateSync(file, bytes.lastIndexOf(lineEnd) + 1);
}

/** Told before anything is trained, not when the first arm has ended. */
export function checkWritable(file: string): void {
  try {
    makeFolder(dirname(file));
    appendFileSync(file, "");
  } catch (error) {
    throw new LudusError("cannot-write", {
      got: `${file}: ${errorText(error)}`,
      expected: "a file that arms can be kept in",
      hint: "Name another one with --records.",
      cause: error,
    });
  }
}

export function appendArm(file: string, line: ArmRecord | { readonly seed: number; readonly whole: true }): void {
  makeFolder(dirname(file));
  dropCutOff(file);
  appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/** What is kept of an arm with which settings were chosen: not its tasks, which are not those that are reported. */
export function trialOf({ seed, arm, measures, seconds, about }: ArmRecord, here: ArmRecord["about"]): ArmRecord {
  return { seed, arm, measures, seconds, about: { ...here, ...about } };
}
