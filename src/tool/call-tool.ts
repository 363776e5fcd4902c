import { cutText } from "../cut-text.ts";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { nearest } from "../nearest.ts";
import type { ToolCall } from "../schema/message.ts";
import type { CallRecord } from "../schema/turn.ts";
import { runGuarded } from "./permission/run-guarded.ts";
import { type LazySignal, lazySignal, runWithin } from "./run-within.ts";
import type { FunctionRunner } from "./sandbox/sandbox.ts";
import { checkState, replaceState } from "./state-copy.ts";
import { runWatched } from "./stray-rejections.ts";
import type { CheckedInput, Tool, ToolContext } from "./tool.ts";
import {
  type CallFacts,
  cancelled,
  crashed,
  judgeEnd,
  judgeIsolated,
  type Stopped,
  told,
  type Verdict,
} from "./verdict.ts";

/** What a policy asked for, as a call format understood it. */
export type SaidToolCall =
  | (ToolCall & { readonly kind?: "call" })
  | { readonly kind: "malformed"; readonly problem: string };

export interface CallLimits {
  readonly toolMs: number;
  /** Longer observations lose their middle. */
  readonly observationChars: number;
}

export type CallResult =
  /** Whatever the policy did, right or wrong: it is told, and the episode goes on. */
  | { readonly kind: "observed"; readonly record: CallRecord }
  /** Not the policy's doing: the episode ends, and nothing is learned from it. */
  | ({ readonly kind: "stopped" } & Stopped);

/**
 * Runs one call. Never throws: what went wrong is a result. A tool that returns at once costs no timer. One that computes
 * without end holds this thread; `isolated` is for those.
 */
export async function callTool<State>(
  tools: Readonly<Record<string, Tool<State>>>,
  call: SaidToolCall,
  context: ToolContext<State>,
  limits: CallLimits,
): Promise<CallResult> {
  const asked: ToolCall = call.kind === "malformed" ? { name: "", arguments: {} } : call;
  try {
    const verdict =
      call.kind === "malformed" ? told("malformed", call.problem) : await judge(tools, call, context, limits);
    if ("stop" in verdict) return { kind: "stopped", ...verdict };
    const { outcome, text, permission } = verdict;
    const observation = cutText(text, limits.observationChars);
    const record = { name: asked.name, arguments: asked.arguments, outcome, observation, ...defined({ permission }) };
    return { kind: "observed", record };
  } catch (error) {
    return { kind: "stopped", ...crashed(error, asked) };
  }
}

async function judge<State>(
  tools: Readonly<Record<string, Tool<State>>>,
  { name, arguments: args }: ToolCall,
  context: ToolContext<State>,
  limits: CallLimits,
): Promise<Verdict> {
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (tool === undefined) return told("unknown-tool", describeUnknown(name, Object.keys(tools)));
  const facts = { name, signal: context.signal, timeoutMs: tool.timeoutMs ?? limits.toolMs };
  if (context.signal.aborted) return cancelled(facts);

  const within = { parent: context.signal, own: lazySignal(), timeoutMs: facts.timeoutMs };
  const checked = await runWithin(() => tool.check(args), within);
  if (checked.how !== "returned") return judgeEnd(checked, facts);
  // `check` returns nothing else
  const input = checked.value as CheckedInput;
  if (!input.ok) return told("bad-arguments", `wrong arguments for "${name}": ${input.problem}`);

  const run = (value: unknown) => runTool(tool, value, context, facts);
  if (tool.guards === undefined) return await run(input.value);
  return await runGuarded(tool.guards, { args, value: input.value, context, facts, run });
}

async function runTool<State>(
  tool: Tool<State>,
  input: unknown,
  context: ToolContext<State>,
  facts: CallFacts,
): Promise<Verdict> {
  if (tool.isolated !== undefined) return await runIsolated(tool, tool.isolated, input, context, facts);
  const within = { parent: context.signal, own: lazySignal(), timeoutMs: facts.timeoutMs };
  const guarded = guardContext(context, within.own);
  let heldMs = 0;
  const run = () => {
    const began = performance.now();
    try {
      return runWatched(`Tool "${facts.name}"`, () => tool.run(input, guarded.context));
    } finally {
      heldMs = performance.now() - began;
    }
  };
  const ended = await runWithin(run, within);
  guarded.close();
  // no timer can fire while the function holds this thread
  if (heldMs <= facts.timeoutMs) return judgeEnd(ended, facts);
  within.own.abort(new DOMException(`The call took longer than ${facts.timeoutMs} ms`, "TimeoutError"));
  return judgeEnd({ how: "timeout" }, facts);
}

async function runIsolated<State>(
  tool: Tool<State>,
  runner: FunctionRunner,
  input: unknown,
  { state, signal }: ToolContext<State>,
  facts: CallFacts,
): Promise<Verdict> {
  const options = { signal, timeoutMs: facts.timeoutMs };
  if (tool.withState !== true) return judgeIsolated(await runner.run(input, options), facts, tool.whenKilled);
  const run = await runner.run(input, { ...options, state: checkState(state) });
  const verdict = judgeIsolated(run, facts, tool.whenKilled);
  // only what was told to the policy has happened
  if (run.kind === "returned" && "outcome" in verdict) replaceState(state, run.state);
  return verdict;
}

/** The context of one call: its own signal, and no word about the episode once the call has ended. */
function guardContext<State>(context: ToolContext<State>, own: LazySignal) {
  let isOpen = true;
  const guarded: ToolContext<State> = {
    state: context.state,
    rng: context.rng,
    get signal() {
      return own.get();
    },
    async box(spec) {
      if (isOpen) return await context.box(spec);
      throw new LudusError("call-ended", { got: "a call of `box()`", expected: "a tool call that goes on" });
    },
    reward(value) {
      if (isOpen) context.reward(value);
    },
    info(facts) {
      if (isOpen) context.info?.(facts);
    },
    finish(answer) {
      if (isOpen) context.finish(answer);
    },
  };
  const close = () => {
    isOpen = false;
  };
  return { context: guarded, close };
}

const maxNameChars = 80;

function describeUnknown(name: string, known: readonly string[]): string {
  const said = `there is no tool "${cutText(name, maxNameChars)}".`;
  if (known.length === 0) return `${said} There are no tools.`;
  const meant = nearest(name, known);
  return `${said}${meant === undefined ? "" : ` Did you mean "${meant}"?`} Tools: ${known.join(", ")}.`;
}
