import { z } from "zod";
import { defined } from "../defined.ts";
import { isJsonObject } from "./parse-with.ts";

/** What JSON can hold. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/**
 * What a guide wants to travel with a task, by name. `hint` is told to the policy, `weights` says which weights roles speak with (`{ opponent: "…" }`);
 * the rollout and the environment ignore all other names, and the store keeps them with the task.
 *
 *     { ...task, annotations: { hint: { kind: "plan", text: "Add 3 to every digit." }, attempt: 2 } }
 */
export interface TaskAnnotations {
  readonly hint?: Hint;
  readonly [name: string]: JsonValue | Hint | undefined;
}

/** Text that the rollout appends, on a new line, to the first observation of the role that begins. */
export interface Hint {
  /** What sort of help, such as `plan`, `feedback` or `environment`. */
  readonly kind: string;
  readonly text: string;
}

/**
 * What is recorded with a turn, by name. The rollout writes `hint` on the first turn of each trajectory; a guide that makes
 * trajectories of its own may write any other name. The store finds trajectories by the names and the `kind`s of these.
 */
export interface TurnAnnotations {
  readonly hint?: ToldHint;
  readonly [name: string]: JsonValue | ToldHint | undefined;
}

/** A hint that was told before a trajectory's first turn. */
export interface ToldHint extends Hint {
  /** The prompt before the first turn as it is without the hint. All tokens after it are the same. */
  readonly prompt_P: Int32Array;
}

/** Turn annotations as JSON holds them: token arrays are plain arrays. */
export interface TurnAnnotationsJson {
  readonly hint?: Hint & { readonly prompt_P: readonly number[] };
  readonly [name: string]: JsonValue | TurnAnnotationsJson["hint"];
}

export function turnAnnotationsToJson({ hint, ...others }: TurnAnnotations): TurnAnnotationsJson {
  const told = hint === undefined ? undefined : { ...hint, prompt_P: Array.from(hint.prompt_P) };
  // without the hint all that is left are JSON values
  return { ...(others as Readonly<Record<string, JsonValue>>), ...defined({ hint: told }) };
}

const HintFields = z.object({ kind: z.string(), text: z.string() });

export const taskAnnotationsFromJson: z.ZodType<TaskAnnotations> = annotationsFromJson(HintFields);
export const turnAnnotationsFromJson: z.ZodType<TurnAnnotations> = annotationsFromJson(
  HintFields.extend({ prompt_P: z.array(z.int32()).transform((tokens) => Int32Array.from(tokens)) }),
);

/** Not `z.looseObject`: a key named `__proto__` would be lost. */
function annotationsFromJson<Told extends Hint>(hintFields: z.ZodType<Told>) {
  const jsonObject = z.custom<Readonly<Record<string, JsonValue>>>(isJsonObject, "an object");
  return jsonObject.transform((annotations, context) => {
    const { hint, ...others } = annotations;
    if (hint === undefined) return others as Readonly<Record<string, JsonValue>> & { readonly hint?: Told };
    const parsed = hintFields.safeParse(hint);
    if (parsed.success) return { ...others, hint: parsed.data };
    const [{ message, path }] = parsed.error.issues;
    context.addIssue({ code: "custom", message, path: ["hint", ...path] });
    return z.NEVER;
  });
}
