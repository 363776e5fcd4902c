import { bounds } from "../bounds.ts";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { CallFormat, WantToSay } from "../policy/call-format.ts";
import { hermes } from "../policy/formats/hermes.ts";
import { plain } from "../policy/formats/plain.ts";
import { knownLimits, type Limits } from "../rollout/limits.ts";
import type { ToolCall } from "../schema/message.ts";
import type { TaskSource } from "../task/task-source.ts";
import { type ToolOptions, tool } from "../tool/define-tool.ts";
import type { InputOf, StandardSchema } from "../tool/standard-schema.ts";
import type { Tool } from "../tool/tool.ts";
import { attemptEpisode } from "./attempt/attempt-episode.ts";
import { demonstrateEpisode } from "./attempt/demonstrate-episode.ts";
import { openEpisode } from "./attempt/open-episode.ts";
import { openingOf, sampleTexts } from "./attempt/sample-texts.ts";
import type { ActContext, Acted, Env, ExpertContext, FinishedEpisode, ScoreParts, Start, StartContext } from "./env.ts";

export const defaultLimits: Limits = {
  turns: 10,
  tokens: 4096,
  turnTokens: 512,
  toolMs: 10_000,
  envMs: 10_000,
  episodeMs: 600_000,
  observationChars: 8_000,
  callsPerTurn: bounds.callsPerTurn,
};

type ToolSet<State> = Readonly<Record<string, Tool<State>>>;
export type ToolMaker<State> = <Schema extends StandardSchema>(
  options: ToolOptions<Schema, State>,
) => Tool<State, InputOf<Schema>>;

/**
 * What an expert calls tools with: `call.search({ query })` is a turn with that call, `call.search({ query }, { thought })` one with
 * a thought before it. Names and arguments are checked by the tools' schemas as they are typed.
 */
export type ToolCalls<Tools> = {
  readonly [Name in keyof Tools]: (
    input: Tools[Name] extends Tool<never, infer Input> ? Input : unknown,
    more?: Pick<WantToSay, "thought" | "answer">,
  ) => WantToSay & { readonly calls: readonly [ToolCall] };
};

/** What an environment's `expert` and `actions` are given. */
export interface AdviceContext<Data, State, Tools> extends ExpertContext<Data, State> {
  readonly call: ToolCalls<Tools>;
}

/** What an author writes: `Env` without what has a default. Properties come in this order, so that types are inferred. */
export interface EnvDefinition<Data, State, Tools extends ToolSet<State> = ToolSet<State>>
  extends Pick<Env<Data, State>, "name" | "remind" | "stateKey" | "copy" | "close" | "release"> {
  description?: string;
  tasks: TaskSource<Data>;
  /** Told once, before everything. */
  system?: string | ((task: Data, role: string) => string);
  start(context: StartContext<Data>): Start<State> | Promise<Start<State>>;
  /** Tools, or a function that makes them: in the latter `tool` knows the type of the state. */
  tools?: Tools | ((tool: ToolMaker<NoInfer<State>>) => Tools);
  act?(context: ActContext<Data, NoInfer<State>>): Acted | Promise<Acted>;
  score?(episode: FinishedEpisode<NoInfer<Data>, NoInfer<State>>): ScoreParts | Promise<ScoreParts>;
  /** What someone who knows the world would say now; undefined when the expert is stuck. */
  expert?(context: AdviceContext<NoInfer<Data>, NoInfer<State>, NoInfer<Tools>>): WantToSay | string | undefined;
  /** What may be said now, where that can be listed: for random players, noisy demonstrations, exploration and search. */
  actions?(context: AdviceContext<NoInfer<Data>, NoInfer<State>, NoInfer<Tools>>): readonly (WantToSay | string)[];
  limits?: Partial<Limits>;
  format?: CallFormat;
  malformed?: "observe" | "stop";
  roles?: readonly string[];
}

const knownEnvFields: KnownOptions<EnvDefinition<unknown, unknown>> = {
  name: true,
  description: true,
  tasks: true,
  system: true,
  start: true,
  tools: true,
  act: true,
  score: true,
  remind: true,
  expert: true,
  actions: true,
  stateKey: true,
  copy: true,
  close: true,
  release: true,
  limits: true,
  format: true,
  malformed: true,
  roles: true,
};

/** Makes an environment of a definition, or says what is wrong with it. */
export function defineEnv<Data, State, Tools extends ToolSet<State> = ToolSet<State>>(
  definition: EnvDefinition<Data, State, Tools>,
): Env<Data, State> {
  refuseUnknownOptions("defineEnv", definition, knownEnvFields);
  const { name, system, limits, roles = ["agent"] } = definition;
  const tools = typeof definition.tools === "function" ? definition.tools(tool) : definition.tools;
  checkName("environment", name);
  for (const toolName of Object.keys(tools ?? {})) checkName("tool", toolName);
  if (roles.length === 0 || new Set(roles).size !== roles.length) {
    throw new LudusError("bad-env", { got: `roles [${roles}] of ${name}`, expected: "at least one, all different" });
  }
  const { system: _system, tools: _tools, expert, actions, ...rest } = definition;
  const call = callsOf<Tools>(Object.keys(tools ?? {}));
  return {
    ...rest,
    ...defined({
      tools,
      expert: expert && ((context: ExpertContext<Data, State>) => expert.call(definition, { ...context, call })),
      actions: actions && ((context: ExpertContext<Data, State>) => actions.call(definition, { ...context, call })),
    }),
    description: definition.description ?? name,
    limits: checkedLimits(name, limits),
    format: definition.format ?? (tools === undefined ? plain() : hermes()),
    malformed: definition.malformed ?? "observe",
    roles,
    hasStateKeys: definition.stateKey !== undefined,
    // `this`, so that an environment that is copied with something replaced plays as the copy says
    attempt(task, policy, options) {
      return attemptEpisode(this, task, policy, options);
    },
    open(task, policy, options) {
      return openEpisode(this, task, policy, options);
    },
    demonstrate(task, renderContext, options) {
      return demonstrateEpisode(this, task, renderContext, options);
    },
    opening(task) {
      return openingOf(this, task);
    },
    sampleTexts(episodes, seed) {
      return sampleTexts(this, episodes, seed);
    },
    ...defined({ system: system === undefined ? undefined : typeof system === "string" ? () => system : system }),
  };
}

function callsOf<Tools>(names: readonly string[]): ToolCalls<Tools> {
  const calls = names.map((name) => {
    const call = (input: ToolCall["arguments"], more: Pick<WantToSay, "thought" | "answer"> = {}) => {
      return { ...more, calls: [{ name, arguments: input }] };
    };
    return [name, call] as const;
  });
  // every name is a tool's, and what it is given was checked by its type
  return Object.fromEntries(calls) as unknown as ToolCalls<Tools>;
}

export function checkName(kind: string, name: string): void {
  if (/^[A-Za-z][\w.-]{0,63}$/.test(name)) return;
  throw new LudusError("bad-env", {
    got: `${kind} name ${JSON.stringify(name)}`,
    expected: "a letter, then letters, digits, _, - or ., at most 64",
  });
}

/** The limits of an environment: what is not given is the default. */
export function checkedLimits(env: string, limits: Partial<Limits> = {}): Limits {
  refuseUnknownOptions(`limits of ${env}`, limits, knownLimits);
  for (const [limit, value] of Object.entries(limits)) checkLimit(env, limit, value);
  return { ...defaultLimits, ...limits };
}

function checkLimit(env: string, limit: string, value: unknown): void {
  if (typeof value === "number" && value > 0) return;
  throw new LudusError("bad-env", { got: `limits.${limit} = ${value} of ${env}`, expected: "a number above 0" });
}
