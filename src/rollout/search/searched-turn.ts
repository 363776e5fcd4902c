import { z } from "zod";
import type { JsonValue } from "../../schema/annotations.ts";
import type { Turn } from "../../schema/turn.ts";

/** What a tree search tried at a turn: the annotation `search`. */
export interface SearchedTurn {
  readonly [name: string]: JsonValue;
  readonly kind: "mcts";
  readonly actions: readonly SearchedAction[];
}

export interface SearchedAction {
  readonly [name: string]: JsonValue;
  readonly tokens: readonly number[];
  readonly visits: number;
  /** Mean over its simulations. */
  readonly value: number;
  /** What a critic thought of it; null where the search had none. */
  readonly critic: number | null;
}

const Recorded = z.object({
  kind: z.literal("mcts"),
  actions: z.array(
    z.object({
      tokens: z.array(z.int32()),
      visits: z.int().min(0),
      value: z.number(),
      critic: z.number().nullable().default(null),
    }),
  ),
});

/** What a search recorded with a turn; undefined where none did. */
export function searchedTurn({ annotations }: Pick<Turn, "annotations">): SearchedTurn | undefined {
  const parsed = Recorded.safeParse(annotations?.search);
  return parsed.success ? parsed.data : undefined;
}
