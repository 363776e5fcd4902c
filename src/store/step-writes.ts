import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { nearest } from "../nearest.ts";
import { type RunEvent, toLosslessJson } from "../schema/index.ts";
import { checkedStep } from "./step-keys.ts";
import type { GroupWrite, StepWrites } from "./store.ts";

const fields: Readonly<Record<keyof StepWrites, true>> = {
  truncateAfter: true,
  metrics: true,
  events: true,
  groups: true,
  removeGroups: true,
  state: true,
  config: true,
  pruneStateBefore: true,
};

/** Throws before anything is written when some of it cannot be. Every store calls it first. */
export function checkWrites(step: number, writes: StepWrites): void {
  checkedStep(step);
  for (const name of Object.keys(writes)) if (!Object.hasOwn(fields, name)) throw unknownField(name);
  for (const [name, value] of Object.entries(writes.metrics ?? {})) {
    if (typeof value === "number") continue;
    throw new LudusError("bad-metric", { got: `${name} = ${String(value)} at step ${step}`, expected: "a number" });
  }
  for (const group of writes.groups ?? []) checkAdvantages(group);
  if (writes.truncateAfter !== undefined) checkedStep(writes.truncateAfter + 1); // -1 forgets all
  if (writes.pruneStateBefore !== undefined) checkedStep(writes.pruneStateBefore);
}

function unknownField(name: string): LudusError {
  const known = Object.keys(fields);
  const meant = nearest(name, known);
  return new LudusError("unknown-field", {
    got: `append(step, { ${name} })`,
    expected: `some of ${known.join(", ")}`,
    ...defined({ hint: meant === undefined ? undefined : `Did you mean "${meant}"?` }),
  });
}

function checkAdvantages({ group, advantages }: GroupWrite): void {
  for (const { id, mask_T } of group.trajectories) {
    const [got, T] = [advantages?.get(id)?.length ?? mask_T.length, mask_T.length];
    if (got !== T) throw new LudusError("bad-advantages", { got: `${got} of ${id}`, expected: `${T}, one a token` });
  }
}

/** A run that was killed after an evaluation makes the same one again when it is resumed; so it does with demonstrations. */
export function isKeptOnce({ type }: RunEvent): boolean {
  return type === "eval-end" || type === "failure";
}

/** State and configuration as text. */
export function storedJson(what: string, value: unknown): string {
  const text: string | undefined = toLosslessJson(value);
  if (text !== undefined) return text;
  throw new LudusError("bad-state", {
    got: `${what} = ${typeof value}`,
    expected: "what JSON can hold; null for nothing",
  });
}

/** Tools that were called, each once. Lone surrogates, which a policy can write, are the same character to UTF-8. */
export function calledTools(turns: readonly { readonly calls: readonly { readonly name: string }[] }[]): string[] {
  return [...new Set(turns.flatMap(({ calls }) => calls.map(({ name }) => name.toWellFormed())))];
}
