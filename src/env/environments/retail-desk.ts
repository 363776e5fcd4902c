import { defined } from "../../defined.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { WantToSay } from "../../policy/call-format.ts";
import { compact } from "../../policy/formats/compact.ts";
import { hermes } from "../../policy/formats/hermes.ts";
import type { Rng } from "../../random.ts";
import { tauBenchScore } from "../../scorer/tau-bench.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";
import type { ActContext, Acted, Env, ExpertContext, FinishedEpisode } from "../env.ts";
import { checkWholeOptions } from "./check-options.ts";
import type { Style } from "./moves.ts";
import { applyAction, cancelReasons } from "./retail-actions.ts";
import { type DatabaseOptions, makeDatabase } from "./retail-database.ts";
import { type RetailExpertState, serve, words } from "./retail-expert.ts";
import { drawRetailTask, type RequestKind, type RetailTask, requestKinds } from "./retail-requests.ts";
import { type RetailToolName, retailTools, shortToolNames, type ToolNames, toolArguments } from "./retail-tools.ts";
import { answerReply, meetUser, stopWord } from "./retail-user.ts";

export interface RetailDeskOptions {
  style: Style;
  kinds: readonly RequestKind[];
  /** Requests of one customer; one more in the split `more-requests`. */
  maxRequests: number;
  /** τ-bench's long names, or words; long in tags style, short in compact style. */
  toolNames: "long" | "short" | "by-style";
  /** Customers in the database; 8 in tags style, 3 in compact style. */
  users: number | "by-style";
  products: number | "by-style";
  ordersPerUser: number;
  turns: number;
  seed: number;
}

const knownRetailDeskOptions: KnownOptions<RetailDeskOptions> = {
  style: true,
  kinds: true,
  maxRequests: true,
  toolNames: true,
  users: true,
  products: true,
  ordersPerUser: true,
  turns: true,
  seed: true,
};

const defaults: RetailDeskOptions = {
  style: "compact",
  kinds: requestKinds,
  maxRequests: 1,
  toolNames: "by-style",
  users: "by-style",
  products: "by-style",
  ordersPerUser: 3,
  turns: 30,
  seed: 0,
};

const sizes = { tags: { users: 8, products: 8 }, compact: { users: 3, products: 3 } };

/** What the desk may do: the rules of τ-bench's retail domain, paraphrased. */
const retailPolicy = [
  "You work at the service desk of an online shop. You help users to cancel or change pending orders, to return or",
  "exchange delivered orders, to change their default address, and to learn about their profile, orders and products.",
  "",
  "- First find out who the user is: by email, or by name and zip code. Do this even when you are given a user id.",
  "- You serve one user in a conversation and refuse requests that concern another.",
  "- Before anything is changed in the database, list the details of the change and let the user confirm with yes.",
  "- Make nothing up, advise nothing of your own, and make one tool call at a time; a turn is a call or a reply, not both.",
  "- Refuse what is against these rules. Hand the user over to a human only when your tools cannot do what is asked.",
  "",
  `- Cancelling: only orders with status "pending", for the reason "${cancelReasons.join('" or "')}". The money goes back the way it was paid.`,
  '- Changing an order: only with status "pending"; its address, its payment method, or its items, to others of the same',
  "  product. Items can be changed once, after which the order can be neither changed nor cancelled: ask for all of them.",
  '- Returning: only orders with status "delivered"; the money goes to the original payment method or to a gift card.',
  '- Exchanging: only orders with status "delivered"; items to available ones of the same product. The user names a payment',
  "  method for the difference; a gift card must hold enough.",
].join("\n");

export interface RetailState extends RetailExpertState {
  /** What was said to the customer. */
  readonly replies: string[];
}

/**
 * A customer service desk, after τ-bench's retail: tools read and change a database, everything else that is said goes to a
 * rule-based customer who ends with `###STOP###`. The score is 1 where the database is as the gold actions leave it
 * and everything required was said. As in τ-bench, consent is not scored, and where nothing should be changed doing nothing
 * is right: tasks of the kind `refuse`, one in seven, are solved by any refusal.
 */
export function retailDesk(options: Partial<RetailDeskOptions> = {}): Env<RetailTask, RetailState> {
  refuseUnknownOptions("retailDesk", options, knownRetailDeskOptions);
  const chosen = { ...defaults, ...options };
  const { style, turns, seed, maxRequests, kinds } = chosen;
  const database = databaseOptions(chosen);
  const names = toolNames(chosen);
  const draw = (rng: Rng, requests: number) => drawRetailTask(rng, { ...database, kinds, requests });
  return defineEnv<RetailTask, RetailState>({
    name: "retail-desk",
    description: "Serve a shop's customer: find their orders, keep to the policy, change what they ask for",
    tasks: generated(
      (rng, split) => draw(rng, split === "more-requests" ? maxRequests + 1 : 1 + rng.integer(maxRequests)),
      // no key: every task has a database of its own
      { name: "retail-desk", seed, splits: ["train", "test", "more-requests"] },
    ),
    ...defined({ system: style === "tags" ? retailPolicy : undefined }),
    start: ({ task }) => ({
      state: {
        database: makeDatabase(task.database, database),
        user: meetUser(),
        looked: new Set<string>(),
        done: [],
        replies: [],
      },
      say: task.requests[0].opening,
    }),
    tools: (tool) => retailTools<RetailState>(tool, style, names),
    act: (context) => reply(context, style),
    score: (episode) => score(episode, database),
    expert: ({ task, state }) => serve(task, state, style, names),
    actions: (context) => listActions(context, style, names),
    // the actions done determine the database, and are shorter
    stateKey: ({ done, user: { request, isConfirmed, told }, looked }) => {
      return [request, isConfirmed, [...told].sort(), [...looked].sort(), ...done].join("|");
    },
    limits: { turns, turnTokens: style === "tags" ? 256 : 64 },
    format: style === "tags" ? hermes() : compact(),
  });
}

function databaseOptions({ style, users, products, ordersPerUser, turns, maxRequests, kinds }: RetailDeskOptions) {
  const sized: DatabaseOptions = {
    style,
    ordersPerUser,
    users: users === "by-style" ? sizes[style].users : users,
    products: products === "by-style" ? sizes[style].products : products,
  };
  checkWholeOptions("retail-desk", {
    users: [sized.users, 1, 12],
    products: [sized.products, 1, 10],
    ordersPerUser: [ordersPerUser, 2, 7],
    maxRequests: [maxRequests, 1, 3],
    turns: [turns, 1, 1000],
    kinds: [kinds.length, 1, requestKinds.length],
  });
  return sized;
}

function toolNames({ toolNames: choice, style }: RetailDeskOptions): ToolNames {
  const isShort = choice === "by-style" ? style === "compact" : choice === "short";
  return (name) => (isShort ? shortToolNames[name] : name);
}

function reply({ task, state, answer }: ActContext<RetailTask, RetailState>, style: Style): Acted {
  state.replies.push(answer);
  const customer = state.database.users[task.userId];
  const say = answerReply(state.user, task, customer, answer, style);
  return { say, done: say === stopWord };
}

function score({ task, state, stop }: FinishedEpisode<RetailTask, RetailState>, options: DatabaseOptions): number {
  // as in τ-bench, a conversation that the customer did not end is not solved
  if (stop !== "completed") return 0;
  const gold = makeDatabase(task.database, options);
  for (const request of task.requests) if (request.gold !== undefined) applyAction(gold, request.gold);
  return tauBenchScore({
    database: state.database,
    goldDatabase: gold,
    requiredOutputs: task.requests.flatMap((request) => request.outputs),
    responses: state.replies,
  });
}

/** Questions, answers, look-ups, refusals, and what the request asks for, done to the right order or to another one. */
function listActions(
  { task, state }: ExpertContext<RetailTask, RetailState>,
  style: Style,
  names: ToolNames,
): WantToSay[] {
  const request = task.requests[state.user.request];
  if (request === undefined) return [];
  const { users, orders, products } = state.database;
  const say = words[style];
  const own = users[task.userId].orders;
  const topics = (["order", "reason", "item", "address", "pay"] as const).map((topic) => say.ask([topic]));
  const amounts = own.map((id) => String(orders[id].payment_history[0].amount));
  const numbers = request.outputs.length === 0 ? [] : request.kind === "stock" ? ["1", "2", "3", "4", "5"] : amounts;
  const answers = [
    ...[say.identity, ...topics, say.confirm([]), say.done, say.refuse],
    ...new Set(numbers.map((each) => say.tell([each]))),
  ];
  const call = (name: RetailToolName, given: Record<string, unknown>) => ({
    calls: [{ name: names(name), arguments: given }],
  });
  const { gold } = request;
  const changes =
    gold === undefined || !("order_id" in gold) ? [] : own.map((orderId) => ({ ...gold, order_id: orderId }));
  return [
    ...answers.map((answer) => ({ answer })),
    ...Object.values(users).map(({ email }) => call("find_user_id_by_email", { email })),
    ...Object.keys(orders).map((orderId) => call("get_order_details", { order_id: orderId })),
    ...Object.keys(products).map((productId) => call("get_product_details", { product_id: productId })),
    call("list_all_product_types", {}),
    ...changes.map((change) => call(change.name, toolArguments(change, style))),
    call("transfer_to_human_agents", { summary: request.kind }),
  ];
}
