import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Utterance } from "../speaker.ts";
import { checkBudget, checkCounts, type SearchBudget, Spending } from "./budget.ts";
import { distinctTurns } from "./distinct-turns.ts";
import type { OpenAttempt } from "./open-attempt.ts";
import { discard, failing, playOn, type Search, type SearchValue, scoredTotal, valueSoFar } from "./search.ts";
import type { SearchedTurn } from "./searched-turn.ts";

export interface MctsOptions {
  /** At each turn of the attempt. */
  simulations: number;
  /** Turns that are sampled at a node; equal ones count once. */
  actions: number;
  /** c of UCB1: Q + c √(log N / (1 + n)). Values of about 0 to 1 are expected. */
  exploration: number;
  /** What an attempt that has ended is worth; the environment's score by default. */
  value: SearchValue;
  /** An estimate of what an attempt that goes on is worth, mixed in with 1 − alpha: Q = α · mean of simulations + (1 − α) · critic. */
  critic?: SearchValue;
  alpha: number;
  budget: SearchBudget;
}

const knownMctsOptions: KnownOptions<MctsOptions> = {
  simulations: true,
  actions: true,
  exploration: true,
  value: true,
  critic: true,
  alpha: true,
  budget: true,
};

const defaults: MctsOptions = {
  simulations: 16,
  actions: 4,
  exploration: 1,
  value: scoredTotal,
  alpha: 0.5,
  budget: {},
};

/**
 * Monte Carlo tree search over turns (Agent Q, arXiv 2408.07199): the policy proposes, UCB1 chooses, the policy plays copies to their end, and
 * what comes of it is the mean. The turn that was tried most is taken, and what was tried is recorded with it (`searchedTurn`). Copies have chance
 * of their own, one draw for each action that is tried. Once the budget is spent, the policy plays on without a search.
 */
export function mcts(options: Partial<MctsOptions> = {}): Search {
  refuseUnknownOptions("mcts", options, knownMctsOptions);
  const chosen: MctsOptions = { ...defaults, ...options };
  const { simulations, actions, alpha, exploration, budget } = chosen;
  checkCounts("mcts", { simulations, actions });
  checkBudget("mcts", budget);
  if (!(alpha >= 0 && alpha <= 1) || !(exploration >= 0)) {
    throw new LudusError("bad-option", {
      got: `alpha ${alpha}, exploration ${exploration} of mcts`,
      expected: "alpha from 0 to 1, exploration of at least 0",
    });
  }
  return {
    name: "mcts",
    async play(begin, own) {
      const spending = new Spending(budget, own);
      const attempt = await begin({ id: own.id, seed: own.seed });
      await failing(attempt, async () => {
        while (attempt.stop === undefined) {
          if (spending.isSpent) await playOn(attempt, spending);
          else await takeSearched(attempt, chosen, spending);
        }
      });
      return attempt.played();
    },
  };
}

interface Node {
  readonly attempt: OpenAttempt;
  visits: number;
  actions?: Action[];
}

interface Action {
  readonly said: Utterance;
  visits: number;
  total: number;
  critic: number;
  node?: Node;
  /** Simulations that the infrastructure ended: they tell nothing of its value. */
  losses: number;
}

/** After as many an action is not tried again; at once where it is the action itself that ends the attempt. */
const mostLosses = 3;

function isLost({ losses, visits, node }: Action): boolean {
  return losses >= mostLosses || (losses > 0 && visits === 0 && node?.attempt.stop !== undefined);
}

async function takeSearched(attempt: OpenAttempt, options: MctsOptions, spending: Spending): Promise<void> {
  const tree = new Tree(options, spending);
  const root: Node = { attempt, visits: 0 };
  try {
    const actions = await tree.expand(root);
    // the attempt ended: nothing was proposed
    if (actions.length === 0) return;
    for (let i = 0; i < options.simulations && actions.length > 1 && !spending.isSpent; i++) await tree.simulate(root);
    const sound = actions.filter((action) => !isLost(action));
    const best = (sound.length === 0 ? actions : sound).reduce((a, b) =>
      b.visits > a.visits || (b.visits === a.visits && meanOf(b) > meanOf(a)) ? b : a,
    );
    const { turns } = attempt;
    await attempt.take(best.said);
    if (attempt.turns > turns) attempt.annotate({ search: recordOf(actions, options.critic !== undefined) });
  } finally {
    await discard(tree.copies);
  }
}

function recordOf(actions: readonly Action[], hasCritic: boolean): SearchedTurn {
  return {
    kind: "mcts",
    actions: actions.map((action) => ({
      tokens: Array.from(action.said.tokens),
      visits: action.visits,
      value: meanOf(action),
      critic: hasCritic ? action.critic : null,
    })),
  };
}

function meanOf({ visits, total }: Action): number {
  return visits === 0 ? 0 : total / visits;
}

class Tree {
  readonly copies: OpenAttempt[] = [];
  readonly #options: MctsOptions;
  readonly #spending: Spending;

  constructor(options: MctsOptions, spending: Spending) {
    this.#options = options;
    this.#spending = spending;
  }

  async expand(node: Node): Promise<Action[]> {
    const turns = await distinctTurns(node.attempt, this.#options.actions, this.#spending);
    node.actions = turns.map((said) => ({ said, visits: 0, total: 0, critic: 0, losses: 0 }));
    if (this.#options.critic !== undefined && node.actions.length > 1) {
      for (const action of node.actions) {
        action.node = await this.#child(node, action);
        action.critic = (await valueSoFar(action.node.attempt, this.#options.critic)) ?? 0;
      }
    }
    return node.actions;
  }

  /** Down to an action that was not tried, to the end from there, and back with what came of it. */
  async simulate(root: Node): Promise<void> {
    const path: { readonly node: Node; readonly action: Action }[] = [];
    let node = root;
    let value: number | undefined;
    for (;;) {
      if (node.attempt.stop !== undefined) {
        value = await valueSoFar(node.attempt, this.#options.value);
        break;
      }
      const actions = node.actions ?? (await this.expand(node));
      const sound = actions.filter((action) => !isLost(action));
      if (sound.length === 0) break;
      const action = this.#choose(node, sound);
      path.push({ node, action });
      const isNew = action.visits === 0;
      action.node ??= await this.#child(node, action);
      node = action.node;
      if (!isNew) continue;
      value = await this.#playOut(node.attempt);
      break;
    }
    // an attempt that the infrastructure ended tells nothing
    const last = path.at(-1);
    if (value === undefined && last !== undefined) last.action.losses++;
    for (const { node: at, action } of value === undefined ? [] : path) {
      at.visits++;
      action.visits++;
      action.total += value!;
    }
  }

  #choose(node: Node, actions: readonly Action[]): Action {
    const { exploration, alpha, critic } = this.#options;
    const untried = actions.filter(({ visits }) => visits === 0);
    if (untried.length > 0) return untried.reduce((a, b) => (b.critic > a.critic ? b : a));
    const bound = (action: Action) => {
      const quality = critic === undefined ? meanOf(action) : alpha * meanOf(action) + (1 - alpha) * action.critic;
      return quality + exploration * Math.sqrt(Math.log(node.visits) / (1 + action.visits));
    };
    return actions.reduce((a, b) => (bound(b) > bound(a) ? b : a));
  }

  async #child({ attempt }: Node, { said }: Action): Promise<Node> {
    const copy = await this.#copy(attempt);
    await copy.take(said);
    return { attempt: copy, visits: 0 };
  }

  async #playOut(attempt: OpenAttempt): Promise<number | undefined> {
    if (attempt.stop !== undefined) return valueSoFar(attempt, this.#options.value);
    const copy = await this.#copy(attempt);
    while (copy.stop === undefined) await playOn(copy, this.#spending, this.#spending.spend);
    return valueSoFar(copy, this.#options.value);
  }

  async #copy(attempt: OpenAttempt): Promise<OpenAttempt> {
    const copy = await attempt.copy({ id: this.#spending.nextId(), seed: this.#spending.next() });
    this.copies.push(copy);
    return copy;
  }
}
