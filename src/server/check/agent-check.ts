import { type EnvFindingCode, Findings } from "../../env/check/findings.ts";
import { checkTasks } from "../../env/check/tasks.ts";
import type { ScoreParts } from "../../env/env.ts";
import { errorText, LudusError } from "../../errors.ts";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { createRng } from "../../random.ts";
import type { Rollout } from "../../rollout/rollout.ts";
import type { World } from "../../rollout/world.ts";
import { failureParts } from "../../schema/failure.ts";
import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import type { Task } from "../../schema/task.ts";
import { seedOf } from "../../task/seeds.ts";
import { runAttempt } from "../agent-attempt.ts";
import type { KnownAgent } from "../agent-env.ts";
import type { ChatTurn } from "../model/chat-turn.ts";
import type { RecordedRollout } from "../model/recorder.ts";

export interface AgentCheckOptions {
  readonly tasks: number;
  readonly timeoutMs: number;
  readonly seed: number;
}

/** A model that is not there: what it says to a call. */
interface Player {
  readonly name: string;
  readonly isExpert?: boolean;
  readonly says: (task: Task) => (turn: ChatTurn, call: number) => string;
}

interface Watched {
  readonly rollout: Rollout;
  readonly recorded: RecordedRollout | undefined;
  readonly refusals: readonly unknown[];
  /** What `run` threw. */
  readonly thrown: unknown;
  /** What `run` returned, once it did. */
  readonly returned: { readonly score: ScoreParts | undefined } | undefined;
}

/** What an agent that runs elsewhere can fail with, and what that is here. */
const remoteFailures: Readonly<Record<string, EnvFindingCode>> = {
  "agent-unreachable": "agent-unreachable",
  "agent-failed": "agent-failed",
  "bad-agent-answer": "agent-bad-answer",
  "agent-not-served": "agent-not-served",
};
const hopeless: readonly EnvFindingCode[] = ["agent-hangs", "agent-no-reward", "agent-unreachable", "agent-not-served"];

const nonsense = ["", '\u0000{"', "<tool_call>{</tool_call>", "🙂".repeat(50)];
const shownChars = 300;
const togetherCount = 4;

/** One check of one agent; `checkAgent` says what of. */
export class AgentCheck {
  readonly findings = new Findings();
  episodes = 0;
  readonly #world: World;
  readonly #agent: KnownAgent;
  readonly #options: AgentCheckOptions;
  /** Of the expert's attempts that were played to their end: whether they succeeded. */
  readonly #expert: boolean[] = [];

  constructor(world: World, agent: KnownAgent, options: AgentCheckOptions) {
    this.#world = world;
    this.#agent = agent;
    this.#options = options;
  }

  async run(): Promise<void> {
    const { name, description } = this.#world;
    if (description.trim() === "" || description === name)
      this.findings.add("no-description", `the description of ${name} is its name`);
    const tasks = await checkTasks(this.#world.tasks, this.#options.tasks, this.findings);
    const { expert } = this.#agent;
    const players = [this.#answering(), this.#calling(), this.#babbling(), ...(expert ? [this.#knowing(expert)] : [])];
    for (const player of players) {
      for (const task of tasks) {
        // each further attempt would wait for its time to run out, or fail in the same way
        if (hopeless.some((code) => this.findings.has(code))) return;
        await this.#twice(task, player);
      }
    }
    if (this.#expert.length > 0 && !this.#expert.includes(true))
      this.findings.add("expert-never-succeeds", `of ${this.#expert.length} tasks the expert solved none`);
    if (this.findings.has("agent-nondeterministic") || this.findings.list().some(({ isWarning }) => !isWarning)) return;
    await this.#together(tasks, players[0]);
  }

  #answering(): Player {
    const answer = (turn: ChatTurn) => this.#world.format.write({ answer: "yes" }, turn.tools);
    return { name: "answering yes", says: () => answer };
  }

  /** Calls the first tool it is offered, once, then answers. */
  #calling(): Player {
    const { format } = this.#world;
    const says = ({ tools }: ChatTurn, call: number) => {
      const [tool] = tools;
      if (tool === undefined || call > 0) return format.write({ answer: "yes" }, tools);
      return format.write({ calls: [{ name: tool.name, arguments: {} }] }, tools);
    };
    return { name: "calling a tool without arguments", says: () => says };
  }

  #babbling(): Player {
    return { name: "saying nonsense", says: () => (_, call) => nonsense[call % nonsense.length] };
  }

  #knowing(expert: NonNullable<KnownAgent["expert"]>): Player {
    const says = (task: Task) => {
      const rng = createRng(task.seed);
      return ({ messages, tools }: ChatTurn) => {
        const said = expert({ task: task.data as never, messages, tools, rng });
        return typeof said === "string" ? said : this.#world.format.write(said, tools);
      };
    };
    return { name: "the expert speaking", says, isExpert: true };
  }

  async #twice(task: Task, player: Player): Promise<void> {
    const first = await this.#play(task, player);
    this.#examine(task, player, first);
    if (isInfrastructureStop(first.rollout.stop)) return;
    if (player.isExpert) this.#expert.push(first.rollout.trajectories[0]?.score.success ?? false);
    const second = await this.#play(task, player);
    if (isInfrastructureStop(second.rollout.stop) || sameQuestions(first, second)) return;
    this.findings.add(
      "agent-nondeterministic",
      `task ${task.id}, ${player.name}: another attempt with the same seed asked the model something else`,
    );
  }

  async #together(tasks: readonly Task[], player: Player): Promise<void> {
    const [task] = tasks;
    if (task === undefined) return;
    const alone = await this.#play(task, player);
    const others = await Promise.all(Array.from({ length: togetherCount }, () => this.#play(task, player)));
    const odd = others.find((other) => !sameQuestions(alone, other));
    if (odd === undefined) return;
    const { stop, failure = "" } = odd.rollout;
    const what = isInfrastructureStop(stop)
      ? `it ended with ${stop}: ${shown(failure)}`
      : "it asked the model something else";
    this.findings.add(
      "agent-state-leaks",
      `task ${task.id}, played alone and then ${togetherCount} times at once: ${what}`,
    );
  }

  async #play(task: Task, { says }: Player): Promise<Watched> {
    this.episodes++;
    const { timeoutMs, seed } = this.#options;
    const { limits, format } = this.#world;
    const say = says(task);
    const refusals: unknown[] = [];
    let recorded: RecordedRollout | undefined;
    let returned: Watched["returned"];
    let thrown: unknown;
    let calls = 0;
    const tokenizer = byteTokenizer();
    const engine = { info: { contextLength: Number.POSITIVE_INFINITY }, sample: neverAsked, release: async () => {} };
    const policy = { engine, tokenizer, renderer: compactRenderer({ tokenizer }) };
    const options = {
      id: `check/${this.episodes}`,
      seed: seedOf(seed, task.id, 0),
      format,
      limits: { ...limits, episodeMs: Math.min(limits.episodeMs, timeoutMs) },
      watch: {
        onRefusal: (error: unknown) => void refusals.push(error),
        onReturn: (score: ScoreParts | undefined) => {
          returned = { score };
        },
        onThrow: (error: unknown) => {
          thrown = error;
        },
        onEnd: (rollout: RecordedRollout) => {
          recorded = rollout;
        },
      },
    };
    const played = await runAttempt(this.#agent, task as Task<never>, policy, options, (turn) => say(turn, calls++));
    return { rollout: await played.score(), recorded, refusals, returned, thrown };
  }

  #examine(task: Task, { name }: Player, { rollout, recorded, refusals, returned, thrown }: Watched): void {
    const where = `task ${task.id}, ${name}`;
    const { stop, failure = "" } = rollout;
    const strange = refusals.find((error) => error instanceof LudusError && error.code === "no-such-model");
    if (strange !== undefined) {
      const { got, expected } = (strange as LudusError).details;
      this.findings.add(
        "agent-unknown-model",
        `${where}: the agent asked for the model ${got}, which is called ${expected}`,
      );
    }
    for (const error of refusals) {
      if (error !== strange)
        this.findings.add(
          "agent-refused",
          `${where}: a request was refused: ${shown(errorText(error))}`,
          errorText(error).slice(0, 40),
        );
    }
    const asked = recorded?.asked;
    if (stop === "episode-timeout" && returned !== undefined && returned.score === undefined) {
      this.findings.add(
        "agent-no-reward",
        `${where}: \`run\` returned nothing, and no reward was posted within ${this.#options.timeoutMs} ms`,
      );
    } else if (stop === "episode-timeout") {
      this.findings.add("agent-hangs", `${where}: the attempt took longer than ${this.#options.timeoutMs} ms`);
    } else if (strange === undefined && isInfrastructureStop(stop)) {
      const remote = thrown instanceof LudusError ? remoteFailures[thrown.code] : undefined;
      const isSilent = asked?.prompts.length === 0 && returned !== undefined;
      if (isSilent) this.findings.add("agent-asks-no-model", `${where}: the agent ended without asking a model`);
      else if (remote !== undefined)
        this.findings.add(remote, `${where}: ${errorText(thrown)}`, errorText(thrown).slice(0, 60));
      else this.findings.add("agent-throws", `${where}: ${shown(failure)}`, shown(failure).slice(0, 60));
    }
    if (asked !== undefined && asked.beginnings > 1) {
      this.findings.add(
        "agent-rewrites-context",
        `${where}: ${asked.beginnings} of ${asked.prompts.length} calls do not go on from an earlier one`,
      );
    }
  }
}

/** Calls may overlap: their order does not matter. */
function sameQuestions(a: Watched, b: Watched): boolean {
  const questions = ({ recorded }: Watched) => (recorded?.asked.prompts ?? []).map((keys) => keys.join("\n")).sort();
  return JSON.stringify(questions(a)) === JSON.stringify(questions(b));
}

function shown(text: string): string {
  const { message, at } = failureParts(text);
  return `${message.slice(0, shownChars)}${at === undefined ? "" : ` (${at})`}`;
}

function neverAsked(): never {
  throw new LudusError("bug", { got: "a sample in a check", expected: "the words of a player" });
}
