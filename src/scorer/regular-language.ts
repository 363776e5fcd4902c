import { LudusError } from "../errors.ts";
import { type CodeRange, type Node, parseExpression } from "./regular-expression.ts";

// An expression becomes a nondeterministic automaton (Thompson's construction). Words are read in one pass, in time proportional to
// states times characters: nothing that is said makes it slow, unlike a backtracking RegExp.

export interface Automaton {
  /** Of each state: where it goes on a character, or without one. */
  readonly states: readonly State[];
  readonly start: number;
  readonly end: number;
}

interface State {
  readonly on?: { readonly ranges: readonly CodeRange[]; readonly to: number } | undefined;
  readonly free: readonly number[];
}

const maxStates = 5_000;
const maxWord = 10_000;
/** States that are visited to compare two languages, about a second. */
const maxVisits = 20_000_000;

/** The language of an expression of the usual syntax, without what is not regular: back references, look-around, lazy or anchored parts. */
export function compileLanguage(expression: string): Automaton {
  const tree = parseExpression(expression);
  if (tree === undefined) throw notRegular(expression);
  const automaton = build(tree);
  if (automaton === undefined) throw notRegular(expression);
  return automaton;
}

/** The same for an expression that a policy wrote: undefined where it is none, or too large. */
export function tryLanguage(expression: string): Automaton | undefined {
  const tree = parseExpression(expression);
  return tree === undefined ? undefined : build(tree);
}

function notRegular(expression: string): LudusError {
  return new LudusError("bad-language", {
    got: `the expression ${JSON.stringify(expression.slice(0, 200))}`,
    expected: `characters, classes, groups, | * + ? {m,n}, of at most ${maxStates} states`,
    hint: "Back references and look-around are not regular; the whole word is matched, so that ^ and $ are not needed.",
  });
}

function build(tree: Node): Automaton | undefined {
  const states: { on?: State["on"]; free: number[] }[] = [];
  const add = () => states.push({ free: [] }) - 1;
  /** Adds the automaton of a node that begins at `from`, and returns where it ends. */
  const grow = (node: Node, from: number): number => {
    if (states.length > maxStates) return from;
    switch (node.kind) {
      case "class": {
        const to = add();
        const middle = add();
        states[from].free.push(middle);
        states[middle].on = { ranges: node.ranges, to };
        return to;
      }
      case "sequence":
        return node.parts.reduce((at, part) => grow(part, at), from);
      case "choice": {
        const to = add();
        for (const part of node.parts) {
          const begin = add();
          states[from].free.push(begin);
          states[grow(part, begin)].free.push(to);
        }
        return to;
      }
      case "repeat": {
        let at = from;
        for (let i = 0; i < node.least && states.length <= maxStates; i++) at = grow(node.part, at);
        const to = add();
        if (node.most === undefined) {
          const loop = add();
          states[at].free.push(loop);
          states[grow(node.part, loop)].free.push(loop);
          states[loop].free.push(to);
          return to;
        }
        for (let i = node.least; i < node.most && states.length <= maxStates; i++) {
          states[at].free.push(to);
          at = grow(node.part, at);
        }
        states[at].free.push(to);
        return to;
      }
      default:
        return node satisfies never;
    }
  };
  const start = add();
  const end = grow(tree, start);
  return states.length > maxStates ? undefined : { states, start, end };
}

/** All states that are reached without a character, in order. */
function closure({ states }: Automaton, from: Iterable<number>): readonly number[] {
  const reached = new Set(from);
  for (const state of reached) for (const next of states[state].free) reached.add(next);
  return [...reached].sort((a, b) => a - b);
}

function step(automaton: Automaton, from: readonly number[], code: number): readonly number[] {
  const next: number[] = [];
  for (const state of from) {
    const { on } = automaton.states[state];
    if (on?.ranges.some(([low, high]) => code >= low && code <= high)) next.push(on.to);
  }
  return closure(automaton, next);
}

/** Whether a word of at most 10,000 characters is in the language. */
export function accepts(automaton: Automaton, word: string): boolean {
  if (word.length > maxWord) return false;
  let at = closure(automaton, [automaton.start]);
  for (const character of word) {
    at = step(automaton, at, character.codePointAt(0)!);
    if (at.length === 0) return false;
  }
  return at.includes(automaton.end);
}

/**
 * A shortest word that is in one language and not in the other; undefined where both are the same. `unknown` where it would take
 * more than about a second to say.
 */
export function difference(a: Automaton, b: Automaton): { readonly word: string } | "unknown" | undefined {
  const codes = representatives(a, b);
  const begin = { a: closure(a, [a.start]), b: closure(b, [b.start]), word: "" };
  const seen = new Set([keyOf(begin)]);
  const queue = [begin];
  let visits = 0;
  for (let i = 0; i < queue.length; i++) {
    const pair = queue[i];
    if (pair.a.includes(a.end) !== pair.b.includes(b.end)) return { word: pair.word };
    for (const code of codes) {
      const next = { a: step(a, pair.a, code), b: step(b, pair.b, code), word: pair.word + String.fromCodePoint(code) };
      visits += 1 + pair.a.length + pair.b.length + next.a.length + next.b.length;
      if (visits > maxVisits) return "unknown";
      const key = keyOf(next);
      if (seen.has(key)) continue;
      seen.add(key);
      queue.push(next);
    }
  }
  return undefined;
}

function keyOf(pair: { readonly a: readonly number[]; readonly b: readonly number[] }): string {
  return `${pair.a.join(" ")}|${pair.b.join(" ")}`;
}

/** One character of each set that neither expression tells apart. */
function representatives(...automata: readonly Automaton[]): number[] {
  const cuts = new Set([0]);
  for (const { states } of automata) {
    for (const { on } of states) {
      for (const [low, high] of on?.ranges ?? []) {
        cuts.add(low);
        if (high < 0x10ffff) cuts.add(high + 1);
      }
    }
  }
  return [...cuts].sort((a, b) => a - b);
}
