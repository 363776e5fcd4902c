import { patchFetch, runInScope, unpatchFetch } from "./captured-fetch.ts";
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

const wallClock = () => (performance.timeOrigin + performance.now()) / 1000;

/**
 * Lets agents of this process speak with a policy instead of a server: inside `capture`, whatever asks `…/chat/completions`,
 * `…/responses`, `…/messages` or `…:generateContent` with `fetch` (the SDKs of OpenAI, Anthropic, Google and Vercel do) is answered
 * by the model, without a network, and belongs to that one rollout, however many run at once. Clients take `fetch` when they are made: make them afterwards.
 *
 *     const { capture } = createCapture(model);
 *     const { value, rollout } = await capture(() => agent(task));
 *     const trajectories = rollout.trajectories({ taskId: task.id, score: makeScore({ outcome: grade(value) }) });
 */
export function createCapture(model: ServedModel): Capture {
  const rollouts = new RecordedRollouts(model);
  const app = modelApp(
    { model, rollouts, now: wallClock, load: { count: 0, most: Number.POSITIVE_INFINITY } },
    undefined,
  );
  let count = 0;
  let isOpen = true;
  patchFetch();
  return {
    async capture(run) {
      const name = `captured-${count++}`;
      const rollout = rollouts.open(name);
      try {
        return { value: await runInScope({ rollout: name, app }, run), rollout };
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
