import { cutText } from "../../cut-text.ts";
import { errorText, LudusError } from "../../errors.ts";
import type { Limiter } from "../../limiter.ts";
import { EpisodeBox } from "../../tool/sandbox/episode-box.ts";
import type { Sandbox } from "../../tool/sandbox/sandbox.ts";
import type { ActionTool, ExtraFields } from "./action-tool.ts";

/** What a request is told of one action. */
export interface Observed {
  readonly observation: string | { readonly obs: string; readonly invalid_reason?: string; readonly error?: string };
  readonly done: boolean;
  readonly valid: boolean;
}

interface Kept {
  readonly box: EpisodeBox;
  readonly state: Map<string, unknown>;
  readonly closing: AbortController;
  /** Calls of one trajectory come one after the other. */
  last: Promise<unknown>;
  running: number;
  usedAt: number;
}

export interface TrajectoriesOptions {
  readonly tools: readonly ActionTool[];
  readonly sandbox: Sandbox | undefined;
  readonly limit: Limiter;
  readonly observationChars: number;
  readonly doneIfInvalid: boolean;
  readonly most: number;
  readonly idleMs: number;
  /** Milliseconds. */
  readonly now: () => number;
}

/** The state of trajectories between their calls: made by the first, removed by `finish`, or when nobody asks for long. */
export class Trajectories {
  readonly #options: TrajectoriesOptions;
  readonly #kept = new Map<string, Kept>();
  #isClosed = false;

  constructor(options: TrajectoriesOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#kept.size;
  }

  async act(id: string, action: string, extra: ExtraFields): Promise<Observed> {
    if (extra.finish === true) {
      await this.#remove(id);
      return { observation: "", done: true, valid: true };
    }
    let tool: ActionTool | undefined;
    try {
      tool = this.#toolFor(action, extra);
    } catch (error) {
      return { observation: { obs: "", error: errorText(error) }, done: true, valid: false };
    }
    if (tool === undefined) {
      const usage = this.#options.tools.map(({ name, usage }) => `${name}: ${usage}`).join("; ");
      const observation = { obs: "", invalid_reason: `no tool was called. ${usage}` };
      return { observation, done: this.#options.doneIfInvalid, valid: false };
    }
    let kept: Kept;
    try {
      kept = await this.#open(id);
    } catch (error) {
      // only this one: others of the same request have begun, and a request that is sent again would run them twice
      return { observation: { obs: "", error: errorText(error) }, done: true, valid: false };
    }
    kept.running++;
    const chosen = tool;
    const work = kept.last.then(() => this.#options.limit(() => this.#run(chosen, { id, action, extra, kept })));
    kept.last = work;
    try {
      return await work;
    } finally {
      kept.running--;
      kept.usedAt = this.#options.now();
    }
  }

  #toolFor(action: string, extra: ExtraFields): ActionTool | undefined {
    let best: { tool: ActionTool; priority: number } | undefined;
    for (const tool of this.#options.tools) {
      const priority = tool.priority(action, extra);
      if (priority >= 0 && (best === undefined || priority > best.priority)) best = { tool, priority };
    }
    return best?.tool;
  }

  /** Never throws: a fault of a tool ends this trajectory, and says so. */
  async #run(
    tool: ActionTool,
    { id, action, extra, kept }: { id: string; action: string; extra: ExtraFields; kept: Kept },
  ): Promise<Observed> {
    try {
      const { box, state, closing } = kept;
      const outcome = await tool.run(action, { id, extra, box, state, signal: closing.signal });
      const observation = cutText(outcome.observation, this.#options.observationChars);
      return { observation, done: outcome.isDone ?? false, valid: outcome.isValid ?? true };
    } catch (error) {
      return { observation: { obs: "", error: `${tool.name}: ${errorText(error)}` }, done: true, valid: false };
    }
  }

  async #open(id: string): Promise<Kept> {
    if (this.#isClosed) throw new LudusError("server-closed", { got: "a call", expected: "a server that runs" });
    const known = this.#kept.get(id);
    if (known !== undefined) return known;
    await this.makeRoom([id]);
    // another call of the same trajectory may have opened it meanwhile
    const opened = this.#kept.get(id);
    if (opened !== undefined) return opened;
    const made: Kept = {
      box: new EpisodeBox(this.#options.sandbox),
      state: new Map(),
      closing: new AbortController(),
      last: Promise.resolve(),
      running: 0,
      usedAt: this.#options.now(),
    };
    this.#kept.set(id, made);
    return made;
  }

  /** Idle ones go where those that are asked for would be too many: a trainer that died sends no `finish`. Refuses before any of them begins. */
  async makeRoom(ids: readonly string[]): Promise<void> {
    const isFull = () => this.#kept.size + new Set(ids.filter((id) => !this.#kept.has(id))).size > this.#options.most;
    if (!isFull()) return;
    await this.sweep();
    if (!isFull()) return;
    throw new LudusError("too-many-requests", {
      got: `a trajectory besides ${this.#kept.size} that are not finished`,
      expected: `at most ${this.#options.most}`,
      hint: "Send `finish` for those that ended, or allow more.",
    });
  }

  /** Removes what nobody asked for since `idleMs`. */
  async sweep(): Promise<void> {
    const before = this.#options.now() - this.#options.idleMs;
    const idle = Array.from(this.#kept).filter(([, { running, usedAt }]) => running === 0 && usedAt <= before);
    await Promise.all(idle.map(([id]) => this.#remove(id)));
  }

  async #remove(id: string): Promise<void> {
    const kept = this.#kept.get(id);
    if (kept === undefined) return;
    this.#kept.delete(id);
    kept.closing.abort();
    // a call that had its state already may come after the one that is waited for
    let last: unknown;
    while (last !== kept.last) {
      last = kept.last;
      await last;
    }
    await kept.box.close();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(Array.from(this.#kept.keys(), (id) => this.#remove(id)));
    await Promise.allSettled(this.#options.tools.map((tool) => tool.close?.()));
  }
}
