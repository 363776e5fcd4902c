import { readFileSync } from "node:fs";
import { builtinDetectors } from "../../src/monitor/doctor/index.ts";

const folder = "src/monitor/doctor";
const invariants = ["mask-covers-sampled", "failures-outside-statistics", "rollout-weighs-one", "logprobs-recomputed"];

/** Detectors in the order in which they look, with what their sources say of them. */
export function detectorTable(): string {
  return table(builtinDetectors.map(({ code }) => rowOf(`detectors/${code}.ts`, code)));
}

export function invariantTable(): string {
  return table(invariants.map((name) => rowOf(`invariants/${name}.ts`)));
}

function table(rows: readonly string[]): string {
  return ["| code | | what it means | what to do |", "|---|---|---|---|", ...rows, ""].join("\n");
}

function rowOf(path: string, expected?: string): string {
  const source = readFileSync(`${folder}/${path}`, "utf8");
  const code = /const code = "([^"]+)"/.exec(source)![1];
  if (expected !== undefined && code !== expected)
    throw new Error(`${path} is the file of ${code}, not of ${expected}`);
  const comments = [...source.matchAll(/\/\*\*([^/]*?)\*\/\nexport (?:const|async function)/g)];
  const meaning = (comments.at(-1)?.[1] ?? nameOf(source)).replace(/\s*\n\s*\* ?/g, " ").trim();
  const cells = [`\`${code}\``, severities(source).join(", "), meaning, strings(source, "remedy").join("<br>")];
  return `| ${cells.join(" | ")} |`;
}

/** Of an invariant that has no words but its name. */
function nameOf(source: string): string {
  const name = /const invariant = "([^"]+)"/.exec(source)?.[1] ?? "";
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}.`;
}

function severities(source: string): readonly string[] {
  const lines = source.split("\n").filter((line) => line.includes("severity"));
  return ["error", "warning", "info"].filter((severity) => lines.some((line) => line.includes(`"${severity}"`)));
}

/** All texts that a field is given, each in one piece. */
function strings(source: string, field: string): string[] {
  const given = source.matchAll(new RegExp(`\\b${field}:\\s*((?:"[^"]*"[\\s+]*)+)`, "g"));
  return Array.from(given, ([, pieces]) => Array.from(pieces.matchAll(/"([^"]*)"/g), ([, piece]) => piece).join(""));
}
