import { LudusError } from "../../errors.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";
import { makeTrajectory, type Trajectory } from "../../schema/trajectory.ts";
import type { Turn } from "../../schema/turn.ts";

/** A text without what may not be kept. */
export type Redact = (text: string) => string;

interface Columns {
  readonly tokens: number[];
  readonly mask: number[];
  readonly logprobs: number[];
  readonly versions: number[];
}

/**
 * A trajectory without what `redact` takes out of its texts, tokens included. What the policy read is written anew around what was
 * taken out; a turn in which the policy said it is no longer learned from. Turns that follow a change were sampled after the
 * original: `annotations.redacted` marks them, as their log-probabilities are of that. Undefined where nothing is left to learn from.
 */
export function redactTrajectory(trajectory: Trajectory, tokenizer: Tokenizer, redact: Redact): Trajectory | undefined {
  const checked = checkedRedact(redact);
  const columns: Columns = { tokens: [], mask: [], logprobs: [], versions: [] };
  const turns: Turn[] = [];
  const { tokens_T } = trajectory;
  let [at, changed] = [0, false];
  for (const turn of trajectory.turns) {
    const { start, end } = turn.span;
    const read = redactedTokens(tokens_T.subarray(at, start), tokenizer, checked);
    changed ||= read !== undefined;
    append(columns, read ?? [...tokens_T.subarray(at, start)]);
    const said = redactedTokens(tokens_T.subarray(start, end), tokenizer, checked);
    const from = columns.tokens.length;
    if (said === undefined) copy(columns, trajectory, start, end);
    else append(columns, said);
    changed ||= said !== undefined;
    const span = { start: from, end: columns.tokens.length };
    turns.push(redactedTurn({ ...turn, span }, changed, checked));
    at = end;
  }
  append(columns, redactedTokens(tokens_T.subarray(at), tokenizer, checked) ?? [...tokens_T.subarray(at)]);
  if (!columns.mask.includes(1)) return undefined;
  return makeTrajectory({
    ...trajectory,
    turns,
    tokens_T: Int32Array.from(columns.tokens),
    mask_T: Uint8Array.from(columns.mask),
    logprobs_T: Float32Array.from(columns.logprobs),
    versions_T: Int32Array.from(columns.versions),
    ...(trajectory.failure === undefined ? {} : { failure: checked(trajectory.failure) }),
  });
}

function checkedRedact(redact: Redact): Redact {
  return (text) => {
    const redacted: unknown = redact(text);
    if (typeof redacted === "string") return redacted;
    throw new LudusError("bad-redaction", { got: `${typeof redacted} from redact`, expected: "a text" });
  };
}

/** Control tokens stay, texts between them are redacted; undefined where nothing was found. */
function redactedTokens(tokens: Int32Array, tokenizer: Tokenizer, redact: Redact): number[] | undefined {
  const control = new Set(tokenizer.controlTokens.values());
  const written: number[] = [];
  let isChanged = false;
  let stretch: number[] = [];
  const flush = () => {
    const text = tokenizer.decode(stretch);
    const redacted = redact(text);
    if (redacted === text) written.push(...stretch);
    else {
      written.push(...tokenizer.encode(redacted));
      isChanged = true;
    }
    stretch = [];
  };
  for (const token of tokens) {
    if (!control.has(token)) {
      stretch.push(token);
      continue;
    }
    flush();
    written.push(token);
  }
  flush();
  return isChanged ? written : undefined;
}

function append(columns: Columns, tokens: readonly number[]): void {
  for (const token of tokens) {
    columns.tokens.push(token);
    columns.mask.push(0);
    columns.logprobs.push(0);
    columns.versions.push(-1);
  }
}

function copy(columns: Columns, trajectory: Trajectory, start: number, end: number): void {
  for (let t = start; t < end; t++) {
    columns.tokens.push(trajectory.tokens_T[t]);
    columns.mask.push(trajectory.mask_T[t]);
    columns.logprobs.push(trajectory.logprobs_T[t]);
    columns.versions.push(trajectory.versions_T[t]);
  }
}

function redactedTurn(turn: Turn, changed: boolean, redact: Redact): Turn {
  // a state's key may hold what the environment knows of its user
  const { text, observation, calls, info, annotations: noted, stateKey: _stateKey, ...rest } = turn;
  const annotations = noted === undefined ? undefined : (redactedValue(noted, redact) as typeof noted);
  return {
    ...rest,
    text: redact(text),
    observation: redact(observation),
    calls: calls.map(({ permission, ...call }) => ({
      ...call,
      arguments: redactedValue(call.arguments, redact) as typeof call.arguments,
      observation: redact(call.observation),
      ...(permission === undefined ? {} : { permission: redactedValue(permission, redact) as typeof permission }),
    })),
    ...(info === undefined ? {} : { info: redactedValue(info, redact) as NonNullable<typeof info> }),
    ...(changed || annotations !== undefined ? { annotations: { ...annotations, ...mark(changed) } } : {}),
  };
}

function mark(changed: boolean) {
  return changed ? { redacted: true } : {};
}

function redactedValue(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((entry) => redactedValue(entry, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, redactedValue(entry, redact)]));
}
