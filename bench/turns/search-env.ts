import { z } from "zod";
import { defineEnv } from "../../src/env/define-env.ts";
import type { Env, ExpertContext } from "../../src/env/env.ts";
import { drawChain, makeKnowledgeBase } from "../../src/env/environments/knowledge-base.ts";
import type { WantToSay } from "../../src/policy/call-format.ts";
import type { Rng } from "../../src/random.ts";
import type { TaskSource } from "../../src/task/task-source.ts";

/** "Zoz owner boss home land?" is answered by searches that follow each other, each for what the one before has found. */
export interface SearchTask {
  question: string;
  /** The right queries in their order; the first is "Zoz owner". */
  queries: string[];
}

export interface SearchWorld {
  /** By query: "Zoz owner" finds "Zoz owner Del". */
  facts: Record<string, string>;
  drawTask(rng: Rng): SearchTask;
}

/** Names and facts are those of the shipped search-QA environment. */
export function makeSearchWorld(hops: number): SearchWorld {
  const base = makeKnowledgeBase({ seed: 0, entities: 12, syllables: 1 });
  const query = ({ subject, relation }: { subject: string; relation: string }) => `${subject} ${relation}`;
  const facts = Object.fromEntries(base.facts.map((fact) => [query(fact), `${query(fact)} ${fact.object}`]));
  return {
    facts,
    drawTask(rng) {
      let chain = drawChain(base, rng, hops);
      while (chain === undefined) chain = drawChain(base, rng, hops);
      const relations = chain.map(({ relation }) => relation);
      return { question: `${[chain[0].subject, ...relations].join(" ")}?`, queries: chain.map(query) };
    },
  };
}

export interface SearchEnvOptions {
  tasks: TaskSource<SearchTask>;
  facts: Readonly<Record<string, string>>;
  turns: number;
  turnTokens: number;
}

interface SearchState {
  /** Queries in their order. */
  asked: string[];
}

/** A turn thinks and calls `search`; the last call ends the episode. bench/baselines/turns_step.py is the same for TRL. */
export function searchEnv({ tasks, facts, turns, turnTokens }: SearchEnvOptions): Env<SearchTask, SearchState> {
  return defineEnv<SearchTask, SearchState>({
    name: "search",
    tasks,
    start: ({ task }) => ({ state: { asked: [] }, say: task.question }),
    tools: (tool) => ({
      search: tool({
        description: "Finds a fact.",
        input: z.object({ query: z.string() }),
        // to the letter what transformers makes of the Python function
        parameters: {
          type: "object",
          properties: { query: { type: "string", description: "A name and a relation." } },
          required: ["query"],
        },
        run({ query }, { state, finish }) {
          state.asked.push(query);
          if (state.asked.length === turns) finish();
          return Object.hasOwn(facts, query) ? facts[query] : "nothing";
        },
      }),
    }),
    score: ({ task, state }) => searchScore(task, state.asked),
    expert: (context) => advise(context, Object.keys(facts)),
    limits: { turns, turnTokens, tokens: turns * turnTokens },
  });
}

/** Right queries, and a little for different letters in them: no two rollouts in a hundred earn the same, so every group is trained on. */
export function searchScore({ queries }: SearchTask, asked: readonly string[]): { found: number; letters: number } {
  const found = queries.filter((query) => asked.includes(query)).length;
  return { found, letters: new Set(asked.join("")).size / 100 };
}

/** Errs in half of its turns, so that attempts at a task differ. */
function advise({ task, state, rng }: ExpertContext<SearchTask, SearchState>, all: readonly string[]): WantToSay {
  const next = task.queries.find((query) => !state.asked.includes(query)) ?? task.queries[0];
  const query = rng.next() < 0.5 ? next : all[rng.integer(all.length)];
  const [subject, relation] = query.split(" ");
  const thought = `I need to know the ${relation} of ${subject}.`;
  return { thought, calls: [{ name: "search", arguments: { query } }] };
}
