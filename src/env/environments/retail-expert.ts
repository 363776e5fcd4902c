import type { WantToSay } from "../../policy/call-format.ts";
import type { Style } from "./moves.ts";
import type { RetailRequest, RetailTask, Topic } from "./retail-requests.ts";
import { type RetailToolState, type ToolNames, toolArguments } from "./retail-tools.ts";
import type { RetailUserState } from "./retail-user.ts";

export interface RetailExpertState extends RetailToolState {
  readonly user: RetailUserState;
}

/** The next step of an expert that keeps to the policy: asks who it is, asks what is missing, looks it up, has it confirmed, does it. */
export function serve(
  task: RetailTask,
  state: RetailExpertState,
  style: Style,
  names: ToolNames,
): WantToSay | undefined {
  const request = task.requests[state.user.request];
  if (request === undefined) return undefined;
  return (
    identifyUser(task, state, style, names) ??
    prepare(request, state, style, names) ??
    settle(request, state, style, names)
  );
}

function identifyUser(
  task: RetailTask,
  state: RetailExpertState,
  style: Style,
  names: ToolNames,
): WantToSay | undefined {
  if (state.looked.has(task.userId)) return undefined;
  if (!state.user.told.has("identity")) return { answer: words[style].identity };
  const { email, name, address } = state.database.users[task.userId];
  if (task.knowsEmail) return { calls: [{ name: names("find_user_id_by_email"), arguments: { email } }] };
  return { calls: [{ name: names("find_user_id_by_name_zip"), arguments: { ...name, zip: address.zip } }] };
}

function prepare(
  request: RetailRequest,
  state: RetailExpertState,
  style: Style,
  names: ToolNames,
): WantToSay | undefined {
  const { orderId, productId, kind } = request;
  const { looked, user } = state;
  const missing = request.facts.map(({ topic }) => topic).filter((topic) => !user.told.has(topic));
  if (missing.length > 0) return { answer: words[style].ask(missing) };
  if (orderId !== undefined && !looked.has(orderId)) {
    return { calls: [{ name: names("get_order_details"), arguments: { order_id: orderId } }] };
  }
  if (kind === "stock" && !looked.has("types"))
    return { calls: [{ name: names("list_all_product_types"), arguments: {} }] };
  // what the policy forbids needs no further look-ups
  if (productId === undefined || looked.has(productId) || request.isRefused) return undefined;
  return { calls: [{ name: names("get_product_details"), arguments: { product_id: productId } }] };
}

function settle(
  { gold, outputs, isRefused }: RetailRequest,
  state: RetailExpertState,
  style: Style,
  names: ToolNames,
): WantToSay {
  if (isRefused) return { answer: words[style].refuse };
  if (gold === undefined) return { answer: words[style].tell(outputs) };
  if (state.done.includes(JSON.stringify(gold))) return { answer: words[style].done };
  const call = { name: names(gold.name), arguments: toolArguments(gold, style) };
  return state.user.isConfirmed ? { calls: [call] } : { answer: words[style].confirm(Object.values(call.arguments)) };
}

interface DeskWords {
  readonly identity: string;
  readonly done: string;
  readonly refuse: string;
  ask(topics: readonly Topic[]): string;
  tell(outputs: readonly string[]): string;
  confirm(details: readonly unknown[]): string;
}

const named: Readonly<Record<Topic, string>> = {
  order: "the order id",
  reason: "the reason",
  item: "the item",
  address: "the new address",
  pay: "the payment method",
};

/** Phrases of the expert that the simulated customer understands. */
export const words: Readonly<Record<Style, DeskWords>> = {
  tags: {
    identity: "Could you tell me your email, or your name and zip code?",
    done: "It has been done. Is there anything else I can help you with?",
    refuse: "I am sorry, this cannot be done with an order of this status.",
    ask: (topics) => `Could you tell me ${topics.map((topic) => named[topic]).join(" and ")}?`,
    tell: (outputs) => `It is ${outputs.join(" and ")}.`,
    confirm: (details) => `I will go on with these details: ${details.flat().join(", ")}. Do you confirm (yes or no)?`,
  },
  compact: {
    identity: "name?",
    done: "done",
    refuse: "no",
    ask: (topics) => `${topics.join(" ")}?`,
    tell: (outputs) => outputs.join(" "),
    confirm: () => "ok?",
  },
};
