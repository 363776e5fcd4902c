import { readFileSync } from "node:fs";
import { shippedEnvs } from "../../src/env/environments/index.ts";
import { Episode } from "../../src/env/episode.ts";

/** A training task as the environment's expert does it, in compact style. What the policy says begins with `> `. */
export async function transcript(name: string, index: number): Promise<string> {
  const env = shippedEnvs[name].make({ style: "compact" });
  const episode = new Episode(env, await env.tasks.at("train", index), { signal: new AbortController().signal });
  const lines: string[] = [];
  let next = await episode.start();
  while ("role" in next) {
    lines.push(...next.messages.map(({ content }) => content));
    const said = episode.expertSays();
    if (said === undefined) throw new Error(`the expert of ${name} is stuck`);
    lines.push(...said.split("\n").map((line) => `> ${line}`));
    next = await episode.step(said);
  }
  const { stop, turns, scores } = await episode.finish(next);
  const last = turns.at(-1)?.observation ?? "";
  const { parts, success } = scores[env.roles[0]];
  const scored = Object.entries(parts).map(([part, value]) => `${part} ${Number(value.toFixed(3))}`);
  const end = [stop, ...scored, success ? "success" : "no success"].join(", ");
  return `\`\`\`text\n${[...lines, ...(last === "" || stop === "max-turns" ? [] : [last]), `(${end})`].join("\n")}\n\`\`\`\n`;
}

/** Splits, limits, format and tools, as the environment is in compact style. */
export function facts(name: string): string {
  const { tasks, limits, format, tools = {}, stateKey, actions } = shippedEnvs[name].make({ style: "compact" });
  const code = (words: readonly string[]) => words.map((word) => `\`${word}\``).join(", ");
  const extras = [stateKey && "`stateKey`", actions && "`actions`"].filter((each) => each !== undefined);
  return [
    `- Splits: ${code(tasks.splits)}.`,
    `- At most ${limits.turns} ${limits.turns === 1 ? "turn" : "turns"} of ${limits.turnTokens} tokens, ${limits.tokens} in all. Format: \`${format.name}\`.`,
    ...(Object.keys(tools).length === 0 ? [] : [`- Tools: ${code(Object.keys(tools))}.`]),
    `- It has an \`expert\`${extras.length === 0 ? "" : `, ${extras.join(" and ")}`}.`,
    "",
  ].join("\n");
}

/** What all of them take; the page tells of these once. */
const common = ["style", "seed"];

/** The options of `<file>.ts` with their defaults, from its source. */
export function optionTable(file: string): string {
  const source = readFileSync(`src/env/environments/${file}.ts`, "utf8");
  const body = /export interface \w+Options \{\n([\s\S]*?)\n\}/.exec(source)![1];
  const defaults = defaultsOf(source);
  const fields = Array.from(body.matchAll(/(?:\/\*\*([\s\S]*?)\*\/\s*)?(\w+)\??: ([^;]+);/g));
  const rows = fields
    .filter(([, , name]) => !common.includes(name))
    .map(([, comment = "", name, type]) => {
      const meaning = comment.replace(/\s*\n\s*\* ?/g, " ").trim();
      const cells = [`\`${name}\``, `\`${type}\``, defaults.get(name) ?? "", meaning];
      return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
    });
  return ["| option | type | default | |", "|---|---|---|---|", ...rows, ""].join("\n");
}

function defaultsOf(source: string): ReadonlyMap<string, string> {
  const body = /const defaults: \w+ = \{([\s\S]*?)\};/.exec(source)![1];
  const entries = body.matchAll(/(?:^|[\s,])(\w+)(?:: (\[[^\]]*\]|"[^"]*"|[^,\s]+))?(?=,|\s*$)/g);
  return new Map(Array.from(entries, ([, name, value]) => [name, describeDefault(value)]));
}

/** A name in the source is a list of everything there is, or a function of the environment's own. */
function describeDefault(value: string | undefined): string {
  if (value === "Number.POSITIVE_INFINITY") return "`Infinity`";
  if (value?.startsWith("score")) return "its own";
  return value === undefined || /^(?!true|false)[a-z]\w*$/i.test(value) ? "all" : `\`${value}\``;
}
