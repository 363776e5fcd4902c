import { defined } from "../../defined.ts";
import { policyWeights } from "../../engine/engine.ts";
import { joinTokens } from "../../policy/join-tokens.ts";
import { truncationOf } from "../../rollout/speaker.ts";
import type { Message } from "../../schema/message.ts";
import type { Score } from "../../schema/score.ts";
import type { StopReason } from "../../schema/stop-reason.ts";
import { makeTrajectory, type Trajectory } from "../../schema/trajectory.ts";
import type { CallRecord, Turn } from "../../schema/turn.ts";
import { inOwnWords, promptOf, type Reply } from "./answer-turn.ts";
import { type ChatSampling, type ChatTurn, messageKey } from "./chat-turn.ts";
import type { ServedModel } from "./served-model.ts";

/** One call of the model: what it read since the call it goes on from, and what it said. */
interface Node {
  readonly parent: Node | undefined;
  readonly read: Int32Array;
  readonly newMessages: readonly Message[];
  readonly reply: Reply;
  /** Keys of all messages up to and with the reply, and the tools on offer. */
  readonly keys: readonly string[];
  readonly tools: string;
}

export interface RolloutEnd {
  readonly taskId: string;
  readonly score: Score;
  /** `completed` by default. */
  readonly stop?: StopReason;
  readonly failure?: string;
  readonly role?: string;
  readonly domain?: string;
}

/**
 * The calls of one attempt of an agent that knows nothing of training. A call whose messages go on from what was said before
 * keeps those very tokens; any other begins anew. So calls form a tree, and each way from its root to a leaf is a trajectory.
 */
export class RecordedRollout {
  readonly id: string;
  readonly #model: ServedModel;
  readonly #nodes: Node[] = [];
  #sampling: Pick<ChatSampling, "temperature" | "topP" | "topK"> = { temperature: 1, topP: undefined, topK: undefined };

  constructor(id: string, model: ServedModel) {
    this.id = id;
    this.#model = model;
  }

  get calls(): number {
    return this.#nodes.length;
  }

  /** What the policy read in all calls, and how many of them went on from no other. */
  get asked(): { readonly prompts: readonly (readonly string[])[]; readonly beginnings: number } {
    const prompts = this.#nodes.map(({ keys }) => keys.slice(0, -1));
    return { prompts, beginnings: this.#nodes.filter(({ parent }) => parent === undefined).length };
  }

  /** Tokens that the policy has sampled. */
  get sampledTokens(): number {
    return this.#nodes.reduce((sum, { reply }) => sum + sampledOf(reply), 0);
  }

  /** The tokens of a call, and how to keep what came of it. */
  begin(turn: ChatTurn): { prompt: Int32Array; keep: (reply: Reply) => void } {
    const keys = turn.messages.map(messageKey);
    const tools = JSON.stringify(turn.tools);
    const parent = this.#parent(keys, tools);
    const newMessages = turn.messages.slice(parent?.keys.length ?? 0);
    const { renderer, format } = this.#model;
    const written = newMessages.map((message) => inOwnWords(message, format, turn.tools));
    const read = parent === undefined ? promptOf(this.#model, turn) : renderer.next(written, parent.reply);
    const prompt = parent === undefined ? read : joinTokens(...pathTo(parent).flatMap(tokensOf), read);
    return {
      prompt,
      keep: (reply) => {
        this.#sampling = turn.sampling;
        const said = messageKey({ role: "assistant", content: reply.content, calls: reply.calls });
        this.#nodes.push({ parent, read, newMessages, reply, tools, keys: [...keys, said] });
      },
    };
  }

  /** What was recorded, to learn from: trajectories that together weigh one. */
  trajectories({ taskId, score, stop = "completed", failure, role = "agent", domain }: RolloutEnd): Trajectory[] {
    const leaves = this.#nodes.filter((node) => !this.#nodes.some(({ parent }) => parent === node));
    const owned = new Set<Node>();
    const pieces = leaves.map((leaf) => {
      const path = pathTo(leaf);
      const own = new Set(path.filter((node) => !owned.has(node)));
      for (const node of own) owned.add(node);
      return { path, own, sampled: [...own].reduce((sum, { reply }) => sum + sampledOf(reply), 0) };
    });
    const total = pieces.reduce((sum, { sampled }) => sum + sampled, 0);
    const weights = this.#model.weights?.[role] ?? policyWeights;
    return pieces.map(({ path, own, sampled }, i) =>
      makeTrajectory({
        id: `${this.id}/${role}${pieces.length > 1 ? `/${i}` : ""}`,
        rollout: this.id,
        taskId,
        role,
        score,
        stop,
        weights,
        weight: sampled / total,
        temperature: this.#sampling.temperature,
        ...defined({ failure, domain, truncation: truncationOf(this.#sampling) }),
        ...columns(path, own),
        turns: turns(path, own),
      }),
    );
  }

  /** The call with the longest history that this one goes on from, of the latest ones. */
  #parent(keys: readonly string[], tools: string): Node | undefined {
    const goesOn = (node: Node) =>
      node.tools === tools && node.keys.length < keys.length && node.keys.every((key, i) => keys[i] === key);
    return this.#nodes.filter(goesOn).reduce<Node | undefined>((best, node) => {
      return best === undefined || node.keys.length >= best.keys.length ? node : best;
    }, undefined);
  }
}

function pathTo(leaf: Node): Node[] {
  const path: Node[] = [];
  for (let node: Node | undefined = leaf; node !== undefined; node = node.parent) path.unshift(node);
  return path;
}

const sampledOf = ({ tokens, forced }: Reply) => tokens.length - forced;
const tokensOf = ({ read, reply }: Node) => [read, reply.tokens];

function columns(path: readonly Node[], own: ReadonlySet<Node>) {
  const tokens_T = joinTokens(...path.flatMap(tokensOf));
  const mask_T = new Uint8Array(tokens_T.length);
  const logprobs_T = new Float32Array(tokens_T.length);
  const versions_T = new Int32Array(tokens_T.length).fill(-1);
  eachSpan(path, (node, start, end) => {
    if (!own.has(node)) return;
    const from = start + node.reply.forced;
    mask_T.fill(1, from, end);
    // rounding may leave a certain token a hair above 0
    logprobs_T.set(
      node.reply.behaviourLogprobs.map((logprob) => Math.min(0, logprob)),
      from,
    );
    versions_T.set(node.reply.versions, from);
  });
  return { tokens_T, mask_T, logprobs_T, versions_T };
}

function turns(path: readonly Node[], own: ReadonlySet<Node>): Turn[] {
  const found: Turn[] = [];
  eachSpan(path, (node, start, end, i) => {
    if (!own.has(node)) return;
    const heard = path[i + 1]?.newMessages ?? [];
    const observations = heard.map(({ content }) => content);
    const calls = node.reply.calls.map((call, k): CallRecord => {
      const observation = heard.filter(({ role }) => role === "tool")[k]?.content ?? "";
      return { ...call, outcome: "ok", observation };
    });
    found.push({ span: { start, end }, text: node.reply.text, calls, reward: 0, observation: observations.join("\n") });
  });
  return found;
}

function eachSpan(path: readonly Node[], visit: (node: Node, start: number, end: number, i: number) => void): void {
  let at = 0;
  path.forEach((node, i) => {
    const start = at + node.read.length;
    at = start + node.reply.tokens.length;
    visit(node, start, at, i);
  });
}
