import { defined } from "../../defined.ts";
import type { Tool } from "../../tool/tool.ts";
import type { Env, ScoreParts } from "../env.ts";
import { firstDifference, show } from "./differences.ts";
import type { EnvFindingCode } from "./findings.ts";

export interface Watch {
  report(code: EnvFindingCode, message: string): void;
  readonly timeoutMs: number;
  /** Whether what is said could be a policy's: only then the length of observations matters. */
  readonly isCivil: boolean;
  /** Whether to score twice. */
  readonly scoresTwice: boolean;
}

/** The same environment, with an eye on what it returns. */
export function watched<Data, State>(env: Env<Data, State>, watch: Watch): Env<Data, State> {
  const { start, act, score } = env;
  return {
    ...env,
    async start(context) {
      const started = await start.call(env, context);
      checkSaid("start", started?.say, env, watch);
      return started;
    },
    ...(act && {
      async act(context) {
        const acted = await act.call(env, context);
        checkSaid("act", acted?.say ?? "", env, watch);
        for (const reward of [acted?.reward ?? 0, ...Object.values(acted?.rewards ?? {})]) {
          if (!Number.isFinite(reward)) watch.report("not-finite", `act gave the reward ${show(reward)}`);
        }
        return acted;
      },
    }),
    ...(score && {
      async score(episode) {
        const given = await score.call(env, episode);
        checkParts(given, watch);
        if (!watch.scoresTwice) return given;
        const difference = firstDifference(given, await score.call(env, episode));
        if (difference !== undefined) watch.report("score-changes", `scored twice, ${difference}`);
        return given;
      },
    }),
    ...defined({
      tools: env.tools ? mapTools(env.tools, (tool, name) => watchTool(tool, name, env, watch)) : undefined,
    }),
  };
}

function watchTool<State>(tool: Tool<State>, name: string, { limits }: Pick<Env, "limits">, watch: Watch): Tool<State> {
  return {
    ...tool,
    timeoutMs: Math.min(tool.timeoutMs ?? limits.toolMs, watch.timeoutMs),
    async run(input, context) {
      const value = await tool.run(input, context);
      if (typeof value === "string") checkSaid(`the tool "${name}"`, value, { limits }, watch);
      return value;
    },
  };
}

function mapTools<State>(
  tools: Readonly<Record<string, Tool<State>>>,
  change: (tool: Tool<State>, name: string) => Tool<State>,
) {
  return Object.fromEntries(Object.entries(tools).map(([name, tool]) => [name, change(tool, name)]));
}

function checkSaid(who: string, say: unknown, { limits }: Pick<Env, "limits">, watch: Watch): void {
  if (typeof say !== "string") {
    watch.report("not-text", `${who} said ${show(say)}`);
  } else if (watch.isCivil && say.length > limits.observationChars) {
    const most = `limits.observationChars is ${limits.observationChars}`;
    watch.report("observation-cut", `${who} said ${say.length} characters, and ${most}: ${show(say)}`);
  }
}

function checkParts(given: ScoreParts, watch: Watch): void {
  const parts = typeof given === "object" && given !== null ? Object.entries(given) : [["score", given] as const];
  const inner = parts.flatMap(([name, part]) =>
    typeof part === "object" && part !== null ? Object.entries(part) : [[name, part] as const],
  );
  for (const [name, part] of inner) {
    if (typeof part !== "boolean" && !Number.isFinite(part))
      watch.report("not-finite", `score gave ${name} = ${show(part)}`);
  }
}
