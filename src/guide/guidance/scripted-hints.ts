import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { type FailedTask, type HintGenerator, kindsLeft } from "./hints.ts";

/** Nothing, or an empty text, where it has nothing to say: the next kind is asked then. */
export type HintWriter<Data> = (failed: FailedTask<Data>) => string | undefined | Promise<string | undefined>;

export interface ScriptedHintsOptions {
  /** Which kinds are used, in which order; all as they are written by default. Leave some out to see what they are worth. */
  kinds: readonly string[];
}

const knownScriptedHintsOptions: KnownOptions<ScriptedHintsOptions> = { kinds: true };

/**
 * Hints by functions, one for each kind; a task that fails again gets the next kind.
 *
 *     scriptedHints<LockTask>({
 *       plan: () => "Add 3 to every digit.",
 *       feedback: ({ attempts }) => `${attempts.at(-1)!.messages.at(-2)!.content} is wrong.`,
 *       environment: ({ task }) => `The code is ${task.data.code}.`,
 *     }, { kinds: ["plan"] })
 */
export function scriptedHints<Data = unknown>(
  writers: Readonly<Record<string, HintWriter<Data>>>,
  options: Partial<ScriptedHintsOptions> = {},
): HintGenerator<Data> {
  refuseUnknownOptions("scriptedHints", options, knownScriptedHintsOptions);
  const kinds = checkKinds(options.kinds ?? Object.keys(writers), Object.keys(writers));
  return {
    name: "scripted",
    async write(failed) {
      for (const kind of kindsLeft(kinds, failed.earlier)) {
        const text = await writers[kind](failed);
        if (text !== undefined && text !== "") return { kind, text };
      }
      return undefined;
    },
  };
}

/** Throws where a kind is not known, or there is none. */
export function checkKinds<Kind extends string>(kinds: readonly string[], known: readonly Kind[]): readonly Kind[] {
  const isKnown = (kind: string): kind is Kind => (known as readonly string[]).includes(kind);
  const wanted = kinds.filter(isKnown);
  if (wanted.length === kinds.length && kinds.length > 0) return wanted;
  throw new LudusError("bad-hint-kinds", {
    got: kinds.length === 0 ? "no kind of hint" : `kinds ${kinds.join(", ")}`,
    expected: `one or more of ${known.join(", ")}`,
  });
}
