import { defined } from "../defined.ts";
import { joinTokens } from "../policy/join-tokens.ts";
import type { Renderer } from "../policy/renderer.ts";
import type { Hint } from "../schema/annotations.ts";
import type { Message, ToolSpec } from "../schema/message.ts";
import { makeTrajectory, type Trajectory } from "../schema/trajectory.ts";
import type { Turn } from "../schema/turn.ts";
import { sum } from "../statistics.ts";
import type { Context, ReadSegment, SaidSegment, Segment } from "./context.ts";

/** What all trajectories of a conversation have in common. */
export type TrajectoryFields = Pick<
  Trajectory,
  "rollout" | "taskId" | "role" | "weights" | "score" | "stop" | "failure" | "temperature" | "truncation" | "domain"
>;

/** A turn as the environment saw it: tokens are the conversation's. */
export type EpisodeTurn = Omit<Turn, "span"> & { readonly role: string };

interface Piece {
  readonly segments: Segment[];
  /** The prompt before its first own turn as it is without the hint; of conversations with one. */
  readonly prompt_P?: Int32Array;
  /** Turns that were sampled in this piece: only these are learned from here. */
  readonly own: Set<SaidSegment>;
}

/**
 * The tokens of one policy in one episode. Sampled ids are kept as they are, what is read is made into tokens once, and the
 * mask follows from where a token came from; nothing is ever rendered again to find out.
 */
export class Conversation {
  readonly #renderer: Renderer;
  readonly #tools: readonly ToolSpec[];
  #view: (history: readonly Segment[]) => readonly Segment[];
  readonly #history: Segment[] = [];
  readonly #pieces: Piece[] = [];
  readonly #hint: Hint | undefined;
  readonly #context: Context;
  /** The same conversation as it would be without the hint. */
  #plain: { readonly view: (history: readonly Segment[]) => readonly Segment[]; history: Segment[] } | undefined;

  /** With a `hint`, its text is appended, on a new line, to the first observation. */
  constructor(renderer: Renderer, tools: readonly ToolSpec[], context: Context, hint?: Hint) {
    this.#renderer = renderer;
    this.#tools = tools;
    this.#view = context.open({ renderer, tools });
    this.#hint = hint;
    this.#context = context;
    this.#plain = hint === undefined ? undefined : { view: context.open({ renderer, tools }), history: [] };
  }

  /** The same so far, to be gone on with apart. Views are shared: what they remember are segments, which never change. */
  copy(): Conversation {
    const copy = new Conversation(this.#renderer, this.#tools, this.#context, this.#hint);
    copy.#view = this.#view;
    copy.#history.push(...this.#history);
    copy.#pieces.push(
      ...this.#pieces.map((piece) => ({ ...piece, segments: [...piece.segments], own: new Set(piece.own) })),
    );
    if (this.#plain !== undefined) copy.#plain = { view: this.#plain.view, history: [...this.#plain.history] };
    return copy;
  }

  /** Takes in what the policy reads now, and returns all it sees. */
  read(messages: readonly Message[], ended: boolean): Int32Array {
    const plain = this.#segment(messages, ended);
    const isHintDue = this.#hint !== undefined && this.#history.length === 0;
    this.#history.push(isHintDue ? this.#segment(hinted(messages, this.#hint.text), ended) : plain);
    this.#plain?.history.push(plain);
    const visible = this.#view(this.#history);
    const plainVisible = this.#plain?.view(this.#plain.history);
    const current = this.#pieces.at(-1);
    if (current?.segments.every((each, i) => visible[i] === each)) {
      current.segments.push(...visible.slice(current.segments.length));
    } else {
      const prompt_P = plainVisible === undefined ? undefined : joined(plainVisible);
      this.#pieces.push({ segments: [...visible], own: new Set(), ...defined({ prompt_P }) });
    }
    return joined(visible);
  }

  #segment(messages: readonly Message[], ended: boolean): ReadSegment {
    const isFirst = this.#history.length === 0;
    const tokens = isFirst ? this.#renderer.start(messages, this.#tools) : this.#renderer.next(messages, { ended });
    return { kind: "read", tokens, messages, ended };
  }

  say(segment: SaidSegment): void {
    this.#history.push(segment);
    this.#plain?.history.push(segment);
    const piece = this.#pieces.at(-1)!;
    piece.segments.push(segment);
    piece.own.add(segment);
  }

  /** One trajectory, or several that together weigh one: each has the share of the sampled tokens that are in it. */
  trajectories(fields: TrajectoryFields, turns: readonly EpisodeTurn[]): Trajectory[] {
    const spoken = this.#pieces.filter(({ own }) => own.size > 0);
    const sampled = spoken.map(({ own }) => [...own].reduce((total, { mask }) => total + sum(mask), 0));
    const total = sampled.reduce((a, b) => a + b, 0);
    return spoken.map((piece, i) => {
      const id = `${fields.rollout}/${fields.role}${spoken.length > 1 ? `/${i}` : ""}`;
      const weight = total === 0 ? 1 / spoken.length : sampled[i] / total;
      return makeTrajectory({ ...fields, id, weight, ...pieceTokens(piece), turns: this.#turnsOf(piece, turns) });
    });
  }

  #turnsOf(piece: Piece, turns: readonly EpisodeTurn[]): Turn[] {
    const own = pieceTurns(piece, turns);
    const { prompt_P } = piece;
    if (this.#hint === undefined || prompt_P === undefined) return own;
    const { kind, text } = this.#hint;
    const [first, ...rest] = own;
    return [{ ...first, annotations: { ...first.annotations, hint: { kind, text, prompt_P } } }, ...rest];
  }
}

function hinted(messages: readonly Message[], text: string): Message[] {
  const last = messages.at(-1)!;
  return [...messages.slice(0, -1), { ...last, content: last.content === "" ? text : `${last.content}\n${text}` }];
}

function joined(segments: readonly Segment[]): Int32Array {
  return joinTokens(...segments.map(({ tokens }) => tokens));
}

function pieceTokens({ segments, own }: Piece) {
  const end = segments.findLastIndex((segment) => segment.kind === "said" && own.has(segment));
  const used = segments.slice(0, end + 1);
  const tokens_T = joined(used);
  const mask_T = new Uint8Array(tokens_T.length);
  const logprobs_T = new Float32Array(tokens_T.length);
  const versions_T = new Int32Array(tokens_T.length).fill(-1);
  let at = 0;
  for (const segment of used) {
    if (segment.kind === "said" && own.has(segment)) {
      mask_T.set(segment.mask, at);
      logprobs_T.set(segment.logprobs, at);
      versions_T.set(segment.versions, at);
    }
    at += segment.tokens.length;
  }
  return { tokens_T, mask_T, logprobs_T, versions_T };
}

function pieceTurns({ segments, own }: Piece, turns: readonly EpisodeTurn[]): Turn[] {
  const found: Turn[] = [];
  let at = 0;
  for (const segment of segments) {
    if (segment.kind === "said" && own.has(segment)) {
      const { role: _role, ...turn } = turns[segment.turn];
      found.push({ ...turn, span: { start: at, end: at + segment.tokens.length } });
    }
    at += segment.tokens.length;
  }
  return found;
}
