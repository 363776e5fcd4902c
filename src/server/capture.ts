import { AsyncLocalStorage } from "node:async_hooks";
import { modelApp } from "./model/model-app.ts";
import { RecordedRollouts } from "./model/recorded-rollouts.ts";
import type { RecordedRollout } from "./model/recorder.ts";
import type { ServedModel } from "./model/served-model.ts";

export interface Captured<Value> {
  readonly value: Value;
  /** Every call made meanwhile: `rollout.trajectories({ taskId, score })`. */
  readonly rollout: RecordedRollout;
}

export interface Capture {
  capture<Value>(run: () => Promise<Value>): Promise<Captured<Value>>;
  /** Gives `fetch` back. */
  close(): void;
}

interface Scope {
  readonly rollout: string;
  readonly app: { fetch(request: Request): Response | Promise<Response> };
}

const scopes = new AsyncLocalStorage<Scope>();
const modelPaths = /\/(chat\/completions|messages|models)\/?$/;
let patches = 0;
let original: typeof fetch | undefined;

/**
 * Lets agents of this process speak with a policy instead of a server: inside `capture`, whatever asks `…/chat/completions` or
 * `…/messages` with `fetch` (the SDKs of OpenAI, Anthropic and Vercel do) is answered by the model, without a network, and
 * belongs to that one rollout, however many run at once. Clients take `fetch` when they are made: make them afterwards.
 *
 *     const { capture } = createCapture(model);
 *     const { value, rollout } = await capture(() => agent(task));
 *     const trajectories = rollout.trajectories({ taskId: task.id, score: makeScore({ outcome: grade(value) }) });
 */
export function createCapture(model: ServedModel): Capture {
  const rollouts = new RecordedRollouts(model);
  const app = modelApp({ model, rollouts, now: () => (performance.timeOrigin + performance.now()) / 1000 }, undefined);
  let count = 0;
  let isOpen = true;
  patchFetch();
  return {
    async capture(run) {
      const name = `captured-${count++}`;
      const rollout = rollouts.open(name);
      try {
        return { value: await scopes.run({ rollout: name, app }, run), rollout };
      } finally {
        rollouts.forget(name);
      }
    },
    close() {
      if (isOpen) unpatchFetch();
      isOpen = false;
    },
  };
}

function patchFetch(): void {
  if (patches++ > 0) return;
  original = globalThis.fetch;
  globalThis.fetch = capturedFetch;
}

function unpatchFetch(): void {
  if (--patches > 0 || original === undefined) return;
  globalThis.fetch = original;
  original = undefined;
}

async function capturedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const scope = scopes.getStore();
  const asked = modelPaths.exec(new URL(input instanceof Request ? input.url : input).pathname)?.[1];
  if (scope === undefined || asked === undefined) return (original ?? fetch)(input, init);
  const url = new URL(`http://localhost/rollouts/${scope.rollout}/v1/${asked}`);
  return scope.app.fetch(new Request(url, new Request(input, init)));
}
