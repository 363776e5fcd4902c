import { defined } from "../defined.ts";
import { checkedLimits, checkName } from "../env/define-env.ts";
import type { ScoreParts } from "../env/env.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createLimiter, type Limiter } from "../limiter.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import type { CallFormat, WantToSay } from "../policy/call-format.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { hermes } from "../policy/formats/hermes.ts";
import { createRng, type Rng } from "../random.ts";
import type { Limits } from "../rollout/limits.ts";
import type { RenderContext, RolloutOptions } from "../rollout/rollout.ts";
import { demonstrate as demonstrateIn } from "../rollout/run-rollout.ts";
import type { DemonstrateOptions, World } from "../rollout/world.ts";
import type { Message, ToolSpec } from "../schema/message.ts";
import type { Task } from "../schema/task.ts";
import { seedOf } from "../task/seeds.ts";
import type { TaskSource } from "../task/task-source.ts";
import { type Agent, type AgentAttempt, runAttempt } from "./agent-attempt.ts";
import { AgentGateway, type AgentGatewayOptions } from "./agent-gateway.ts";
import { patchFetch } from "./captured-fetch.ts";
import type { ChatTurn } from "./model/chat-turn.ts";

/** What `agentEnv` is told of an agent that exists already. */
export interface AgentDefinition<Data> {
  name: string;
  description?: string;
  tasks: TaskSource<Data>;
  /**
   * Runs the agent on a task and says how well it did. What it asks of a model meanwhile is answered by the policy. What it
   * throws is an infrastructure failure; what the policy is to blame for is a low score. Nothing, where the score will be posted.
   */
  run(task: Data, attempt: AgentAttempt): Promise<ScoreParts | undefined> | ScoreParts | undefined;
  /** What the agent calls the model; the environment's name by default. */
  model?: string;
  /** How the policy writes tool calls; `hermes()` by default. */
  format?: CallFormat;
  /** Turns are calls of the model. An agent that asks for more is refused, and has failed. */
  limits?: Partial<Pick<Limits, "turns" | "tokens" | "turnTokens" | "episodeMs">>;
  /** What somebody who knows better than the policy would say in its place. */
  expert?(context: AgentExpertContext<Data>): WantToSay | string;
  /** What could be said as well, for noisy demonstrations. */
  actions?(context: AgentExpertContext<Data>): readonly (WantToSay | string)[];
  /** Attempts that are made at once at most; what waits is not on the clock. No bound of its own by default: that of `train` holds. */
  concurrency?: number;
  /** For agents of other processes: the policy is served over HTTP too, each attempt under its own `url`. */
  serve?: AgentGatewayOptions;
}

const knownAgentFields: KnownOptions<AgentDefinition<unknown>> = {
  name: true,
  description: true,
  tasks: true,
  run: true,
  model: true,
  format: true,
  limits: true,
  expert: true,
  actions: true,
  concurrency: true,
  serve: true,
};

export interface AgentExpertContext<Data> {
  readonly task: Data;
  /** What the model was sent. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
  readonly rng: Rng;
}

/**
 * An agent that exists already as an environment, for `train`, `evaluate` and whatever else takes one:
 *
 *     const env = agentEnv({
 *       name: "helpdesk",
 *       tasks: listed(questions),
 *       run: async ({ question, answer }) => ((await agent(question)) === answer ? 1 : 0),
 *     });
 *     await train({ env, policy, algorithm: grpo(), steps: 100 });
 *
 * The agent keeps its own loop, tools and prompts. Calls with `fetch` are captured as by `createCapture`: make clients after this.
 */
export function agentEnv<Data>(definition: AgentDefinition<Data>): World<Data> {
  refuseUnknownOptions("agentEnv", definition, knownAgentFields);
  const { name, description = name, tasks, run, format = hermes(), expert, actions, serve } = definition;
  checkName("environment", name);
  const limits = checkedLimits(name, definition.limits);
  const gateway = serve === undefined ? undefined : new AgentGateway(serve);
  const limit = attemptLimiter(definition.concurrency, gateway);
  const agent = { model: definition.model ?? name, run, gateway, limit };
  const common = (task: Task<Data>, options: RolloutOptions) => {
    refuseUnheard(name, task, options);
    return { ...options, format: options.format ?? format, limits: { ...limits, ...options.limits } };
  };
  const demonstrate =
    expert === undefined
      ? undefined
      : (task: Task<Data>, { engine, ...renderContext }: RenderContext, options: DemonstrateOptions) => {
          const chosen = common(task, options);
          const rng = createRng(options.seed);
          const words = ({ messages, tools }: ChatTurn): string => {
            const context = { task: task.data, messages, tools, rng };
            const choices = rng.next() < (options.noise ?? 0) ? (actions?.(context) ?? []) : [];
            const said = choices.length > 0 ? choices[rng.integer(choices.length)] : expert(context);
            return typeof said === "string" ? said : chosen.format.write(said, tools);
          };
          const silent = { info: engine.info, sample: neverAsked, release: async () => {} };
          return runAttempt(agent, task, { ...renderContext, engine: silent }, chosen, words);
        };
  patchFetch();
  const world: World<Data> = {
    name,
    description,
    tasks,
    format,
    limits,
    roles: ["agent"],
    hasStateKeys: false,
    attempt: (task, policy, options) => runAttempt(agent, task, policy, common(task, options)),
    ...defined({ demonstrate }),
    sampleTexts(episodes, seed) {
      return sampleDemonstrations(this, episodes, seed);
    },
  };
  agents.set(world, { ...agent, ...defined({ expert, actions }) });
  return world;
}

/** At a fixed address nobody could tell attempts apart that are made at once. */
function attemptLimiter(concurrency: number | undefined, gateway: AgentGateway | undefined): Limiter {
  if (gateway?.isFixed !== true) return createLimiter(concurrency ?? Number.POSITIVE_INFINITY);
  if (concurrency === undefined || concurrency === 1) return createLimiter(1);
  throw new LudusError("bad-config", {
    got: `concurrency ${concurrency} with serve: { fixed: true }`,
    expected: "attempts one after the other",
  });
}

/** What `checkAgent` needs of the agent behind a world. */
export type KnownAgent = Agent<never> & Pick<AgentDefinition<never>, "expert">;
const agents = new WeakMap<object, KnownAgent>();

/** The agent of a world that `agentEnv` made. */
export function agentOf(world: object): KnownAgent | undefined {
  return agents.get(world);
}

/** What the expert read and said; a tokenizer of bytes will do to write it down. */
async function sampleDemonstrations<Data>(world: World<Data>, episodes: number, seed: number): Promise<string[][]> {
  if (world.demonstrate === undefined) {
    throw new LudusError("no-demonstrations", {
      got: `${world.name}, an agent without an expert, for a policy that is made from what is said`,
      expected: "`expert` in agentEnv: its words make the vocabulary and tell how long an episode is",
      hint: "Or give train() a policy that is there already: { engine, renderer, tokenizer }.",
    });
  }
  const tokenizer = byteTokenizer();
  const engine = { info: { contextLength: Number.POSITIVE_INFINITY } };
  const renderContext = { engine, tokenizer, renderer: compactRenderer({ tokenizer }) };
  const plays = Array.from({ length: episodes }, async (_, index) => {
    const task = await world.tasks.at("train", 2_000_000 + index);
    const options = { id: `sample-play/${index}`, seed: seedOf(seed, "sample-play", index), noise: index % 2 };
    const { trajectories } = await demonstrateIn(world, task, renderContext, options);
    return trajectories.map(({ tokens_T }) => tokenizer.decode(tokens_T));
  });
  return Promise.all(plays);
}

function neverAsked(): never {
  throw new LudusError("bug", { got: "a sample in a demonstration", expected: "the expert's words" });
}

/** What an agent shows the policy is its own affair: what others would add or leave out has no place. */
function refuseUnheard(
  name: string,
  { annotations }: Task<unknown>,
  { context, epsilonTool = 0 }: RolloutOptions,
): void {
  const isUnheard = {
    "a context": context !== undefined,
    epsilonTool: epsilonTool > 0,
    "a hint": annotations?.hint !== undefined,
  };
  const got = Object.entries(isUnheard).find(([, isSo]) => isSo)?.[0];
  if (got === undefined) return;
  throw new LudusError("bad-config", {
    got: `${got} with ${name}, an agent of its own`,
    expected: "no contexts, hints or forced calls: the agent writes what the policy reads",
  });
}
