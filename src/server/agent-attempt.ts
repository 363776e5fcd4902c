import { defined } from "../defined.ts";
import type { ScoreParts } from "../env/env.ts";
import { withTurnRewards } from "../env/episode-score.ts";
import { errorStack, errorText, failureText, LudusError } from "../errors.ts";
import type { Limiter } from "../limiter.ts";
import type { CallFormat } from "../policy/call-format.ts";
import { DeadlineSignal } from "../rollout/deadline-signal.ts";
import type { Limits } from "../rollout/limits.ts";
import type { PlayedRollout, Policy, Rollout, RolloutOptions } from "../rollout/rollout.ts";
import { checkSample } from "../rollout/speaker.ts";
import { startGate } from "../rollout/start-gate.ts";
import { makeScore } from "../schema/score.ts";
import type { PolicyStop } from "../schema/stop-reason.ts";
import type { Task } from "../schema/task.ts";
import type { TrainingProgress } from "../schema/training-progress.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import { seedOf } from "../task/seeds.ts";
import { type Ended, lazySignal, runWithin } from "../tool/run-within.ts";
import { type AgentGateway, nowhere } from "./agent-gateway.ts";
import { runInScope } from "./captured-fetch.ts";
import type { ChatSampling, ChatTurn } from "./model/chat-turn.ts";
import { modelApp } from "./model/model-app.ts";
import { RecordedRollouts } from "./model/recorded-rollouts.ts";
import type { RecordedRollout, RolloutEnd } from "./model/recorder.ts";
import type { ServedModel } from "./model/served-model.ts";

/** What an agent may know of the attempt it makes. */
export interface AgentAttempt {
  readonly id: string;
  /** The base URL of an OpenAI client; without `/v1` it is that of Anthropic's and Google's. In process any other does as well. */
  readonly url: string;
  /** The key of such a client: that of `serve`, where it has one. */
  readonly apiKey: string;
  /** What the policy is called there. */
  readonly model: string;
  /** Where `{ "reward": 1 }` is posted, of an agent in another process that scores itself. */
  readonly rewardUrl: string;
  /** The same when the run is repeated: for all randomness of the agent's own. */
  readonly seed: number;
  /** Where in training the attempt is made, for rewards that change over it; absent outside of training. */
  readonly training?: TrainingProgress;
  readonly signal: AbortSignal;
}

export interface Agent<Data> {
  /** What it calls the model. */
  readonly model: string;
  run(task: Data, attempt: AgentAttempt): Promise<ScoreParts | undefined> | ScoreParts | undefined;
  readonly gateway: AgentGateway | undefined;
  /** How many attempts are made at once. */
  readonly limit: Limiter;
}

/** Sees what an attempt does, for checks. */
export interface AttemptWatch {
  /** A request that was answered with an error. */
  onRefusal(error: unknown): void;
  /** `run` has returned. */
  onReturn(score: ScoreParts | undefined): void;
  /** `run` has thrown. */
  onThrow(error: unknown): void;
  /** The attempt is over. */
  onEnd(rollout: RecordedRollout): void;
}

export interface AttemptOptions extends RolloutOptions {
  readonly limits: Limits;
  readonly format: CallFormat;
  readonly watch?: AttemptWatch;
}

type Speaking = Pick<Policy, "renderer" | "tokenizer" | "weights"> & { readonly engine: ServedModel["engine"] };
const load = { count: 0, most: Number.POSITIVE_INFINITY };
const wallClock = () => (performance.timeOrigin + performance.now()) / 1000;

/**
 * One attempt of an agent, all of whose calls a policy answers; or, where `words` are given, somebody who knows. Its time runs from when it
 * is its turn.
 */
export async function runAttempt<Data>(
  agent: Agent<Data>,
  task: Task<Data>,
  policy: Speaking,
  options: AttemptOptions,
  words?: (turn: ChatTurn) => string,
): Promise<PlayedRollout<Data>> {
  const call = new Attempt(agent, policy, options);
  await startGate();
  try {
    return await agent.limit(() => makeAttempt(agent, task, call, options, words), options.signal);
  } catch (error) {
    if (options.signal?.aborted !== true) throw error;
    const { id } = options;
    const timing = { sampleMs: 0, totalMs: 0 };
    return {
      id,
      task,
      stop: "cancelled",
      score: async () => ({ id, task, trajectories: [], stop: "cancelled", timing }),
    };
  }
}

async function makeAttempt<Data>(
  agent: Agent<Data>,
  task: Task<Data>,
  call: Attempt,
  options: AttemptOptions,
  words: ((turn: ChatTurn) => string) | undefined,
): Promise<PlayedRollout<Data>> {
  const app = modelApp({ ...call.handler, now: wallClock, load, ...defined({ words }) }, undefined);
  const address = await agent.gateway?.open(app);
  const started = performance.now();
  const { id } = options;
  const deadline = new DeadlineSignal(options.limits.episodeMs, options.signal);
  const { signal } = deadline;
  try {
    const { base, rewardUrl, apiKey } = address ?? nowhere;
    const { seed, training } = options;
    const attempt = {
      id,
      url: `${base}/v1`,
      apiKey,
      model: agent.model,
      rewardUrl,
      seed,
      signal,
      ...defined({ training }),
    };
    const run = async () => {
      const score = await agent.run(task.data, attempt);
      options.watch?.onReturn(score);
      return score ?? (await call.posted);
    };
    const within = { parent: signal, own: lazySignal(), timeoutMs: Number.POSITIVE_INFINITY };
    const ended = await runWithin(() => runInScope({ rollout: id, app }, run), within);
    if (ended.how === "threw") options.watch?.onThrow(ended.error);
    const end = call.end(ended, deadline.isTimeUp);
    options.watch?.onEnd(call.rollout);
    const domain = task.domain === undefined ? {} : { domain: task.domain };
    const trajectories =
      call.rollout.calls === 0 ? [] : call.rollout.trajectories({ ...end, ...domain, taskId: task.id });
    const why = end.failure === undefined ? {} : { failure: end.failure };
    const timing = { sampleMs: call.sampleMs, totalMs: performance.now() - started };
    const rollout = { id, task, trajectories, stop: end.stop, timing, ...why };
    // the agent has said how well it did, or posted it, before it ended
    return { id, task, stop: end.stop, score: async () => rollout };
  } finally {
    address?.close();
    call.close();
    deadline.clear();
  }
}

type AttemptEnd = Pick<RolloutEnd, "score" | "failure"> & { readonly stop: Rollout["stop"] };
const noScore = makeScore({ outcome: 0 }, false);

/** The policy's side of an attempt: how it samples, within which limits, and what became of it. */
class Attempt {
  readonly rollout: RecordedRollout;
  /** The score, where the agent posts it. */
  readonly posted: Promise<ScoreParts>;
  readonly handler;
  sampleMs = 0;
  readonly #options: AttemptOptions;
  #turns = 0;
  /** Aborted when the attempt is over, whatever its agent still waits for. */
  readonly #closed = new AbortController();
  /** Why the policy was not asked any more. */
  #over: PolicyStop | undefined;
  #engineError: unknown;
  /** The first request that was answered with an error. */
  #refusal: unknown;

  constructor(agent: Pick<Agent<never>, "model">, policy: Speaking, options: AttemptOptions) {
    const { renderer, tokenizer, weights, engine } = policy;
    if (tokenizer === undefined) {
      throw new LudusError("no-tokenizer", {
        got: "a policy without its tokenizer",
        expected: "{ engine, renderer, tokenizer }: agents are answered in text",
      });
    }
    this.#options = options;
    const sample: typeof engine.sample = (request, signal) => this.#sample(engine, request, signal);
    const model: ServedModel = {
      name: agent.model,
      renderer,
      tokenizer,
      format: options.format,
      ...defined({ weights }),
      engine: { info: engine.info, sample, release: (kept) => engine.release(kept) },
    };
    const posted = Promise.withResolvers<ScoreParts>();
    this.posted = posted.promise;
    const onRollout = ([first]: readonly Trajectory[]) => posted.resolve(first?.score ?? noScore);
    const rollouts = new RecordedRollouts(model, { onRollout });
    this.rollout = rollouts.open(options.id);
    const onError = (error: unknown) => {
      if (error instanceof LudusError && error.code === "context-too-long") this.#over ??= "context-full";
      this.#refusal ??= error;
      options.watch?.onRefusal(error);
    };
    const sampling = (asked: ChatSampling, count: number) => this.#sampling(asked, count);
    this.handler = { model, rollouts, rollout: options.id, onError, sampling };
  }

  /** As the run says, whatever the agent asks for: what is learned from must be sampled as the algorithm expects. */
  #sampling(asked: ChatSampling, count: number): ChatSampling {
    const { limits, seed, temperature = 1, topP, topK } = this.#options;
    // of each answer
    const left = Math.floor((limits.tokens - this.rollout.sampledTokens) / count);
    if (this.#closed.signal.aborted) throw over("a call after the attempt has ended");
    if (this.#turns >= limits.turns) throw this.#ended("max-turns", `call ${limits.turns + 1} of the model`);
    if (left <= 0) throw this.#ended("max-tokens", `a call for more than the ${limits.tokens} tokens`);
    const maxTokens = Math.min(asked.maxTokens ?? left, limits.turnTokens, left);
    return { ...asked, temperature, topP, topK, maxTokens, seed: seedOf(seed, "turn", this.#turns++) };
  }

  #ended(stop: PolicyStop, got: string): LudusError {
    this.#over = stop;
    return over(got);
  }

  /** From now on the policy says nothing more for this attempt. */
  close(): void {
    this.#closed.abort(new DOMException("The attempt is over", "AbortError"));
  }

  async #sample(engine: ServedModel["engine"], ...asked: Parameters<ServedModel["engine"]["sample"]>) {
    const started = performance.now();
    const [request, gone] = asked;
    const signal = gone === undefined ? this.#closed.signal : AbortSignal.any([gone, this.#closed.signal]);
    try {
      const sample = await engine.sample(request, signal);
      checkSample(sample);
      return sample;
    } catch (error) {
      if (!signal.aborted) this.#engineError ??= error;
      throw error;
    } finally {
      this.sampleMs += performance.now() - started;
    }
  }

  end(ended: Ended<ScoreParts>, isTimeUp: boolean): AttemptEnd {
    if (isTimeUp) {
      return { score: noScore, stop: "episode-timeout", failure: "the agent took longer than limits.episodeMs" };
    }
    if (ended.how === "cancelled" || ended.how === "timeout") return { score: noScore, stop: "cancelled" };
    if (this.#engineError !== undefined) return failed("engine-error", this.#engineError);
    if (ended.how === "threw") {
      if (this.#over !== undefined) return { score: noScore, stop: this.#over };
      return failed("env-crash", ended.error);
    }
    if (this.rollout.calls === 0) return failed("env-crash", notAsked(this.#refusal));
    try {
      return { score: withTurnRewards(ended.value, []), stop: "completed" };
    } catch (error) {
      return failed("env-crash", error);
    }
  }
}

function over(got: string): LudusError {
  return new LudusError("attempt-over", { got, expected: "no more than the limits of the environment" });
}

function notAsked(refusal: unknown): string {
  return refusal === undefined
    ? "The agent asked no model in this attempt. Were its clients made before agentEnv? Does it ask without fetch? Then serve it."
    : `No request of the agent was answered in this attempt: ${errorText(refusal)}`;
}

function failed(stop: "engine-error" | "env-crash", error: unknown): AttemptEnd {
  const failure = failureText(errorStack(error));
  return { score: noScore, stop, failure };
}
