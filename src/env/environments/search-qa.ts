import { z } from "zod";
import { defined } from "../../defined.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { WantToSay } from "../../policy/call-format.ts";
import { compact } from "../../policy/formats/compact.ts";
import { search } from "../../policy/formats/search.ts";
import type { Rng } from "../../random.ts";
import { makeScore, type Score } from "../../schema/score.ts";
import { exactMatchScore } from "../../scorer/normalize-answer.ts";
import { reSearchAnswerScore } from "../../scorer/re-search.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { ActContext, Acted, Env, ExpertContext, FinishedEpisode } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import { drawChain, type Fact, type KnowledgeBase, makeKnowledgeBase } from "./knowledge-base.ts";
import type { Style } from "./moves.ts";

export interface SearchQaOptions {
  style: Style;
  /** One knowledge base for all tasks, which a policy may memorize, or another for each task. */
  kb: "shared" | "per-task";
  /** Things of each of the four kinds in a knowledge base. */
  entities: number;
  minHops: number;
  maxHops: number;
  /** Passages told for a search; 3 in tags style, 1 in compact style. */
  passages: number | "by-style";
  /**
   * The policy searches; or, as in plain RAG, it is shown the passages that the question retrieves, and answers. "twice" retrieves again
   * with the question and what the first passages name.
   */
  retrieve: "by-policy" | "once" | "twice";
  /** All turns, the answer included. Search-R1 counts searches, and one more turn: its 2 (4 in the paper) are 3 (5) here. */
  turns: number;
  /** `em`: exact match, as Search-R1. `f1-format`, as ReSearch: 0 for a broken format, else F1, but 0.1 at least. */
  reward: "em" | "f1-format";
  seed: number;
}

const knownSearchQaOptions: KnownOptions<SearchQaOptions> = {
  style: true,
  kb: true,
  entities: true,
  minHops: true,
  maxHops: true,
  passages: true,
  retrieve: true,
  turns: true,
  reward: true,
  seed: true,
};

const defaults: SearchQaOptions = {
  style: "compact",
  kb: "shared",
  entities: 12,
  minHops: 1,
  maxHops: 3,
  passages: "by-style",
  retrieve: "by-policy",
  turns: 4,
  reward: "em",
  seed: 0,
};

export interface SearchQaTask {
  /** Seed of the knowledge base. */
  readonly base: number;
  readonly start: string;
  /** In the order of the search: `["boss", "home"]` asks for the home of the boss. */
  readonly relations: readonly string[];
  readonly isPerson: boolean;
  readonly answer: string;
}

export interface SearchQaState {
  readonly base: KnowledgeBase;
  readonly question: string;
  /** What was told so far. */
  readonly seen: Set<Fact>;
  searches: number;
  isWellFormed: boolean;
}

/**
 * Questions of one to three hops over an invented knowledge base, and BM25 to search it with. In compact style `search` is a
 * tool. In tags style it is an action, because Search-R1 answers a turn with neither search nor answer in its own words.
 */
export function searchQa(options: Partial<SearchQaOptions> = {}): Env<SearchQaTask, SearchQaState> {
  refuseUnknownOptions("searchQa", options, knownSearchQaOptions);
  const chosen = { ...defaults, ...options };
  checkOptions(chosen);
  const { style, seed } = chosen;
  const isRetrieved = chosen.retrieve !== "by-policy";
  const turns = isRetrieved ? 1 : chosen.turns;
  const baseOf = rememberLast((base: number) => {
    return makeKnowledgeBase({ seed: base, entities: chosen.entities, syllables: style === "tags" ? 2 : 1 });
  });
  return defineEnv<SearchQaTask, SearchQaState>({
    name: "search-qa",
    description: `Answer questions of ${chosen.minHops} to ${chosen.maxHops} hops by searching a knowledge base`,
    tasks: generated((rng) => makeTask(rng, chosen, baseOf), { name: "search-qa", seed, key: askCompactly }),
    start({ task }) {
      const question = style === "tags" ? ask(task) : askCompactly(task);
      const state = { base: baseOf(task.base), question, seen: new Set<Fact>(), searches: 0, isWellFormed: true };
      const asked = style === "tags" ? `Answer the given question.\nQuestion: ${question}` : question;
      const found = isRetrieved ? [describeFound(retrieve(state, task, chosen), style)] : [];
      return { state, say: [asked, ...found].join("\n") };
    },
    // the base is shared by all episodes: nothing changes it
    copy: (state) => ({ ...state, seen: new Set(state.seen) }),
    ...(style === "tags" || isRetrieved
      ? {}
      : {
          tools: (tool) => ({
            search: tool({
              description: "Finds facts",
              input: z.object({ query: z.string() }),
              run: ({ query }, { state }) => describeFound(lookUp(state, query, chosen), style),
            }),
          }),
        }),
    act: (context) => act(context, chosen),
    score: (episode) => score(episode, chosen),
    expert: (context) => (isRetrieved ? { answer: context.task.answer } : advise(context, style)),
    actions: (context) => listActions(context, style),
    stateKey: ({ question, seen }) => [question, ...Array.from(seen, writeFact).sort()].join("|"),
    limits: { turns, turnTokens: style === "tags" ? 500 : 24 },
    format: style === "tags" ? search() : compact(),
  });
}

function checkOptions({ entities, minHops, maxHops, passages, turns }: SearchQaOptions): void {
  checkWholeOptions("search-qa", {
    entities: [entities, 4, 200],
    minHops: [minHops, 1, 3],
    maxHops: [maxHops, minHops, 3],
    passages: [passages === "by-style" ? 1 : passages, 1, 100],
    turns: [turns, 1, 100],
  });
}

/** The attempts of a group run together, so a cache of one entry suffices. */
function rememberLast<Key, Value>(make: (key: Key) => Value): (key: Key) => Value {
  let last: { key: Key; value: Value } | undefined;
  return (key) => {
    if (last?.key !== key) last = { key, value: make(key) };
    return last.value;
  };
}

function makeTask(
  rng: Rng,
  { kb, seed, minHops, maxHops }: SearchQaOptions,
  baseOf: (base: number) => KnowledgeBase,
): SearchQaTask {
  const base = kb === "shared" ? seed : rng.integer(2 ** 31);
  const hops = minHops + rng.integer(maxHops - minHops + 1);
  let chain = drawChain(baseOf(base), rng, hops);
  while (chain === undefined) chain = drawChain(baseOf(base), rng, hops);
  const { object: answer, objectKind } = chain.at(-1)!;
  const relations = chain.map(({ relation }) => relation);
  return { base, start: chain[0].subject, relations, isPerson: objectKind === "person", answer };
}

function ask({ start, relations, isPerson }: SearchQaTask): string {
  const asked = relations.reduce((thing, relation) => `the ${relation} of ${thing}`, start);
  return `${isPerson ? "Who" : "What"} is ${asked}?`;
}

function askCompactly({ start, relations }: SearchQaTask): string {
  return `${start} ${relations.join(" ")}?`;
}

function lookUp(state: SearchQaState, query: string, { style, passages }: SearchQaOptions): readonly Fact[] {
  const most = passages === "by-style" ? { tags: 3, compact: 1 }[style] : passages;
  const found = state.base.find(query, most).map(({ index }) => state.base.facts[index]);
  for (const fact of found) state.seen.add(fact);
  state.searches++;
  return found;
}

/** What is put before a question that the policy does not search for itself. */
function retrieve(state: SearchQaState, { relations }: SearchQaTask, options: SearchQaOptions): readonly Fact[] {
  const first = lookUp(state, state.question, options);
  if (options.retrieve !== "twice") return first;
  const second = first.flatMap(({ object }) => lookUp(state, [object, ...relations].join(" "), options));
  return [...new Set([...first, ...second])];
}

function describeFound(found: readonly Fact[], style: Style): string {
  if (style === "compact") return found.map(writeFact).join("\n") || "nothing";
  const passages = found.map(({ subject, relation, object }, index) => {
    return `Doc ${index + 1}(Title: ${subject}) The ${relation} of ${subject} is ${object}.`;
  });
  return `\n\n<information>${passages.join("\n")}</information>\n\n`;
}

function writeFact({ subject, relation, object }: Fact): string {
  return `${subject} ${relation} ${object}`;
}

/** Search-R1's, to the letter. */
const invalidAction =
  "\nMy previous action is invalid. If I want to search, I should put the query between <search> and </search>. " +
  "If I want to give the final answer, I should put the answer between <answer> and </answer>. Let me try again.\n";

function act({ task, state, said }: ActContext<SearchQaTask, SearchQaState>, options: SearchQaOptions): Acted {
  state.isWellFormed &&= said.isWellFormed;
  const query = said.calls.find((call) => call.kind === "call" && call.name === "search");
  const facts = () => ({ searches: state.searches, hops: task.relations.length });
  if (query?.kind === "call") {
    const found = lookUp(state, String(query.arguments.query ?? ""), options);
    return { say: describeFound(found, "tags"), info: facts() };
  }
  if (said.calls.length > 0) return { say: invalidAction, info: facts() };
  return { done: true, info: facts() };
}

function score(
  { task, state, answer, turns }: FinishedEpisode<SearchQaTask, SearchQaState>,
  { reward }: SearchQaOptions,
): Score {
  const isRight = exactMatchScore(answer, task.answer) === 1;
  if (reward === "em") return makeScore({ outcome: isRight ? 1 : 0 }, isRight);
  const areCallsRight = turns.every(({ calls }) => calls.every(({ outcome }) => outcome === "ok"));
  const isWellFormed = state.isWellFormed && areCallsRight && answer !== "";
  return makeScore({ outcome: isWellFormed ? reSearchAnswerScore(answer, task.answer) : 0 }, isRight);
}

/** Follows the chain as far as it was told, whoever asked; then searches for the next link or answers. */
function advise({ task, state }: ExpertContext<SearchQaTask, SearchQaState>, style: Style): WantToSay {
  let at = task.start;
  for (const relation of task.relations) {
    const fact = [...state.seen].find((known) => known.subject === at && known.relation === relation);
    if (fact === undefined) return searchFor(at, relation, style);
    at = fact.object;
  }
  return { answer: at, ...defined({ thought: style === "tags" ? `So it is ${at}.` : undefined }) };
}

function searchFor(subject: string, relation: string, style: Style): WantToSay {
  const query = style === "tags" ? `${relation} of ${subject}` : `${subject} ${relation}`;
  const thought = style === "tags" ? { thought: `I need to know the ${relation} of ${subject}.` } : {};
  return { ...thought, calls: [{ name: "search", arguments: { query } }] };
}

/** Searches for anything that can be known of what was named so far, and each such name as an answer. */
function listActions({ task, state }: ExpertContext<SearchQaTask, SearchQaState>, style: Style): WantToSay[] {
  const named = [...new Set([task.start, ...Array.from(state.seen, ({ object }) => object)])];
  const searches = named.flatMap((name) =>
    state.base.factsOf.get(name)!.map(({ relation }) => searchFor(name, relation, style)),
  );
  return [...searches, ...named.map((answer) => ({ answer }))];
}
