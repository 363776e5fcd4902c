import type { HintKind, LockEnv, LockTask } from "../../env/environments/lock.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { FailedAttempt, HintGenerator } from "./hints.ts";
import { hintKinds } from "./hints.ts";
import { checkKinds, scriptedHints } from "./scripted-hints.ts";

export interface LockHintsOptions {
  kinds: readonly HintKind[];
}

const knownLockHintsOptions: KnownOptions<LockHintsOptions> = { kinds: true };

/** The hints that the lock itself offers, from its state after a failed attempt; all three kinds by default. */
export function lockHints(env: LockEnv, options: Partial<LockHintsOptions> = {}): HintGenerator<LockTask> {
  refuseUnknownOptions("lockHints", options, knownLockHintsOptions);
  const kinds = checkKinds(options.kinds ?? hintKinds, hintKinds);
  const tell = (kind: HintKind, task: LockTask, lastTry?: string) => env.hints({ task, lastTry })[kind];
  const generator = scriptedHints<LockTask>(
    {
      plan: ({ task }) => tell("plan", task.data),
      feedback: ({ task, attempts }) => {
        const told = attempts.map((attempt) => tell("feedback", task.data, lastTry(env, attempt)));
        // of several attempts the one that got most digits right tells most
        return told.toSorted((a, b) => unknownDigits(a) - unknownDigits(b))[0];
      },
      environment: ({ task }) => tell("environment", task.data),
    },
    { kinds },
  );
  return { ...generator, name: "lock" };
}

function lastTry(env: LockEnv, { messages }: FailedAttempt): string {
  const said = messages.findLast(({ role }) => role === "assistant")?.content ?? "";
  return env.format.parse(said, []).answer;
}

const unknownDigits = (text: string) => text.split("_").length - 1;
