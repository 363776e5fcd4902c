import { canonicalJson, type JsonValue } from "./json-value.ts";

export interface ShapedCall {
  name: string;
  arguments: JsonValue;
  outcome: "ok" | "error" | "unknown-tool";
}

export interface ToolShapingOptions {
  /** Tools that help with the task. */
  relevant: readonly string[];
  /** Once, where some call of a relevant tool is made. */
  relevantBonus: number;
  /** For every call equal to the one before it. */
  duplicatePenalty: number;
  /** For every call of a tool that does not exist. */
  unknownPenalty: number;
  /** The sum stays within ±cap, so that shaping cannot outweigh the outcome. */
  cap: number;
}

const defaults: ToolShapingOptions = {
  relevant: [],
  relevantBonus: 0.1,
  duplicatePenalty: 0.05,
  unknownPenalty: 0.3,
  cap: 0.3,
};

/** A small reward for using the right tools and against repeating calls or inventing tools. Zero to three parts, capped. */
export function toolShapingScore(calls: readonly ShapedCall[], options: Partial<ToolShapingOptions> = {}): number {
  const chosen = { ...defaults, ...options };
  const isRelevant = (call: ShapedCall) => call.outcome !== "unknown-tool" && chosen.relevant.includes(call.name);
  const texts = calls.map((call) => canonicalJson([call.name, call.arguments]));
  const duplicates = texts.filter((text, index) => index > 0 && text === texts[index - 1]).length;
  const unknown = calls.filter((call) => call.outcome === "unknown-tool").length;
  const bonus = calls.some(isRelevant) ? chosen.relevantBonus : 0;
  const score = bonus - chosen.duplicatePenalty * duplicates - chosen.unknownPenalty * unknown;
  return Math.max(-chosen.cap, Math.min(chosen.cap, score));
}
