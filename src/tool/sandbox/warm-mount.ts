import { boxRoot, boxTemporary, type HeldMount } from "./bubblewrap-mount.ts";
import type { BoxMount, FolderCommand } from "./folder-box.ts";
import { type CommandLimits, commandLimits } from "./limits.ts";
import { NodeSession } from "./node-session.ts";
import { NodeSpare, nodeInBox } from "./node-spare.ts";
import { PythonZygote } from "./python-zygote.ts";
import type { Ended } from "./sandbox.ts";

export const warmKinds = ["python", "node", "node-session"] as const;
export type WarmKind = (typeof warmKinds)[number];

type Waiting = PythonZygote | NodeSpare | NodeSession;

interface WarmSettings {
  readonly warm: WarmKind | undefined;
  /** Of a command that says nothing else, and what is over the general defaults. */
  readonly usual: CommandLimits;
  readonly common: Partial<CommandLimits>;
  /** Of all boxes of the sandbox. */
  readonly nodes: WaitingNodes;
  /** Whether it is made ahead of the first call. */
  readonly isAhead: boolean;
  readonly runAlone: (request: FolderCommand, held: HeldMount, signal: AbortSignal) => Promise<Ended>;
}

/** So long after a call the next process is started: a box that is closed then needs none. */
const nextMs = 10;

/** A Node that waits takes tens of megabytes: of those that nobody uses the one that has waited longest is ended. */
export class WaitingNodes {
  readonly #most: number;
  /** The one that was used last comes last. */
  readonly #waiting = new Set<NodeSpare | NodeSession>();

  constructor(most: number) {
    this.#most = most;
  }

  use(node: NodeSpare | NodeSession): void {
    this.#waiting.delete(node);
    this.#waiting.add(node);
    let over = this.#waiting.size - this.#most;
    for (const each of this.#waiting) {
      if (each.isGone) this.#waiting.delete(each);
      else if (over <= 0 || each.isBusy || each === node) continue;
      else {
        this.#waiting.delete(each);
        void each.close();
      }
      over -= 1;
    }
  }
}

/** A box in which an interpreter waits for calls. Python waits from the beginning; Node from its first call, as it takes ten times the memory. */
export function warmMount(held: HeldMount, settings: WarmSettings): BoxMount {
  const { warm, usual, common, nodes, isAhead, runAlone } = settings;
  const isNode = warm === "node" || warm === "node-session";
  const make = (): Waiting | undefined => {
    if (warm === undefined) return undefined;
    if (warm === "python") return new PythonZygote(held, usual);
    const node = warm === "node" ? new NodeSpare(held, usual) : new NodeSession(held, usual);
    nodes.use(node);
    return node;
  };
  let waiting = isNode && !isAhead ? undefined : make();
  let next: NodeJS.Timeout | undefined;
  let isUsed = false;
  const replace = () => {
    if (waiting === undefined ? isUsed : waiting.isGone) waiting = make();
  };
  return {
    ...held,
    root: boxRoot,
    temporary: boxTemporary,
    async run(given, signal) {
      const command = isNode && given.command === "node" ? { ...given, command: nodeInBox } : given;
      const limits = commandLimits({ ...common, ...command.limits });
      clearTimeout(next);
      isUsed ||= command.command === nodeInBox;
      // one that would start now is no sooner there than the call's own process
      if (warm === "node-session" || waiting !== undefined) replace();
      const taker = waiting?.takes(command, limits) ? waiting : undefined;
      if (taker !== undefined && !(taker instanceof PythonZygote)) nodes.use(taker);
      const ended =
        (await taker?.run(command, limits, signal)) ?? (await runAlone({ ...command, limits }, held, signal));
      // a Node that was ended because others are used more is started by the next call that needs it
      if (!isNode || command.command === nodeInBox) next = setTimeout(replace, nextMs).unref();
      return ended;
    },
    async close() {
      clearTimeout(next);
      await waiting?.close();
      await held.close();
    },
  };
}
