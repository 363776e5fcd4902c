import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { WantToSay } from "../../policy/call-format.ts";
import { compact } from "../../policy/formats/compact.ts";
import type { Rng } from "../../random.ts";
import type { ToolCall } from "../../schema/message.ts";
import { asJson, canonicalJson } from "../../scorer/json-value.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { Env, ExpertContext, FinishedEpisode, ScoreParts } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import { pick } from "./draw.ts";
import { type Arguments, drawDistractor, type EverydayTool, everydayTools, impossible } from "./everyday-tools.ts";
import type { Style } from "./moves.ts";
import { toolRlFormat } from "./tool-rl-format.ts";

export interface FunctionCallingOptions {
  style: Style;
  /** How many of the eight tools are offered; requests for the others cannot be met. */
  tools: number;
  /** Requests that need two calls, to different tools. */
  twoCallShare: number;
  /** Requests that no tool can meet. */
  impossibleShare: number;
  /** Requests preceded by a sentence that asks for nothing. */
  distractorShare: number;
  /** Instead of 1 for exactly the calls asked for and 0 otherwise. What was said is `turns[0].text`. */
  score?: (episode: FinishedEpisode<FunctionCallingTask, undefined>) => ScoreParts | Promise<ScoreParts>;
  seed: number;
}

const knownFunctionCallingOptions: KnownOptions<FunctionCallingOptions> = {
  style: true,
  tools: true,
  twoCallShare: true,
  impossibleShare: true,
  distractorShare: true,
  score: true,
  seed: true,
};

const defaults: FunctionCallingOptions = {
  style: "compact",
  tools: 8,
  twoCallShare: 0.2,
  impossibleShare: 0.2,
  distractorShare: 0.3,
  seed: 0,
};

export interface FunctionCallingTask {
  readonly request: string;
  /** None where no tool can do it. */
  readonly calls: readonly { readonly name: string; readonly arguments: Arguments }[];
}

/**
 * One request, to be met by the right calls of typed tools, or by words where no tool fits. As in ToolRL nothing is executed:
 * the calls themselves are what is judged. Calls end an episode as `max-turns`, for there is one turn.
 */
export function functionCalling(options: Partial<FunctionCallingOptions> = {}): Env<FunctionCallingTask, undefined> {
  refuseUnknownOptions("functionCalling", options, knownFunctionCallingOptions);
  const chosen = { ...defaults, ...options };
  const { style, seed } = chosen;
  checkWholeOptions("function-calling", { tools: [chosen.tools, 1, everydayTools.length] });
  const offered = everydayTools.slice(0, chosen.tools);
  const tasks = generated((rng) => makeTask(rng, offered, chosen), {
    name: "function-calling",
    seed,
    key: ({ request }) => request,
  });
  return defineEnv<FunctionCallingTask, undefined>({
    name: "function-calling",
    description: `Meet a request with the right calls of ${chosen.tools} typed tools, or say that none fits`,
    tasks,
    start: ({ task }) => ({ state: undefined, say: task.request }),
    tools: (tool) =>
      Object.fromEntries(
        offered.map(({ name, description, input }) => [name, tool({ description, input, run: () => undefined })]),
      ),
    score: chosen.score ?? (({ task, turns, answer }) => (isExact(task, turns[0]?.calls ?? [], answer) ? 1 : 0)),
    expert: ({ task }) => meet(task.calls, style),
    actions: (context) => listActions(context, offered, style),
    limits: { turns: 1, turnTokens: style === "tags" ? 512 : 64 },
    format: style === "tags" ? toolRlFormat() : compact(),
  });
}

/** What ToolRL's scorer compares a turn with. */
export function toolRlReferenceOf({ calls }: FunctionCallingTask) {
  return {
    calls: calls.map(({ name, arguments: parameters }) => ({ name, parameters })),
    responds: calls.length === 0,
  };
}

interface Wish {
  readonly text: string;
  readonly calls: FunctionCallingTask["calls"];
}

function makeTask(rng: Rng, offered: readonly EverydayTool[], options: FunctionCallingOptions): FunctionCallingTask {
  const { style, distractorShare } = options;
  const { text, calls } = drawWish(rng, offered, options);
  if (rng.next() >= distractorShare) return { request: text, calls };
  const { says, short } = drawDistractor(rng);
  return { request: `${style === "tags" ? says : short} ${text}`, calls };
}

function drawWish(rng: Rng, offered: readonly EverydayTool[], options: FunctionCallingOptions): Wish {
  const { style, impossibleShare, twoCallShare } = options;
  const chance = rng.next();
  if (chance < impossibleShare) {
    const others = everydayTools.filter((tool) => !offered.includes(tool));
    const index = rng.integer(impossible.length + others.length);
    const other = others[index - impossible.length];
    if (other !== undefined) return { text: wishFor(rng, other, style).text, calls: [] };
    const { says, short } = impossible[index];
    return { text: style === "tags" ? says : short, calls: [] };
  }
  const tool = pick(rng, offered);
  const first = wishFor(rng, tool, style);
  if (chance >= impossibleShare + twoCallShare || offered.length < 2) return first;
  const second = wishFor(
    rng,
    pick(
      rng,
      offered.filter((other) => other !== tool),
    ),
    style,
  );
  const text = style === "tags" ? `${first.text} And another thing: ${second.text}` : `${first.text}; ${second.text}`;
  return { text, calls: [...first.calls, ...second.calls] };
}

function wishFor(rng: Rng, tool: EverydayTool, style: Style): Wish {
  const { arguments: given, says, short } = tool.request(rng);
  return { text: pick(rng, style === "tags" ? says : short), calls: [{ name: tool.name, arguments: given }] };
}

/** Exactly the gold calls, in any order. A request without gold calls needs an answer instead. */
function isExact({ calls: gold }: FunctionCallingTask, calls: readonly ToolCall[], answer: string): boolean {
  if (gold.length === 0) return calls.length === 0 && answer !== "";
  const said = calls.map(canonical).sort();
  return (
    calls.length === gold.length &&
    gold
      .map(canonical)
      .sort()
      .every((call, index) => call === said[index])
  );
}

function canonical({ name, arguments: given }: ToolCall): string {
  return canonicalJson([name, asJson(given)]);
}

function meet(calls: readonly ToolCall[], style: Style): WantToSay {
  if (style === "compact") return calls.length === 0 ? { answer: "no" } : { calls };
  if (calls.length === 0) return { thought: "None of the tools can do this.", answer: "I cannot do that." };
  return { thought: `This is for ${calls.map(({ name }) => name).join(" and ")}.`, calls };
}

/** What is right, part of it, and a call of each tool with arguments of its own. */
function listActions(
  { task: { calls }, rng }: ExpertContext<FunctionCallingTask, undefined>,
  offered: readonly EverydayTool[],
  style: Style,
): WantToSay[] {
  const others = offered.map((tool) => wishFor(rng, tool, style).calls);
  const sets = [
    ...(calls.length > 0 ? [calls] : []),
    ...(calls.length > 1 ? calls.map((call) => [call]) : []),
    ...others,
  ];
  return [[], ...sets].map((set) => meet(set, style));
}
