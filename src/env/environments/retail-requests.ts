import { LudusError } from "../../errors.ts";
import type { Rng } from "../../random.ts";
import { ToolError } from "../../tool/tool.ts";
import { pick } from "./draw.ts";
import type { Style } from "./moves.ts";
import { applyAction, cancelReasons, type RetailAction } from "./retail-actions.ts";
import {
  type DatabaseOptions,
  makeAddress,
  makeDatabase,
  type Order,
  type OrderItem,
  type RetailDatabase,
  type Variant,
} from "./retail-database.ts";

export const requestKinds = ["cancel", "address", "items", "return", "exchange", "look-up", "refuse"] as const;
export type RequestKind = (typeof requestKinds)[number];
type ActionKind = "cancel" | "address" | "items" | "return" | "exchange";

export type Topic = "order" | "reason" | "item" | "address" | "pay";

/** Something the customer knows and says when asked. */
export interface RetailFact {
  readonly topic: Topic;
  readonly say: string;
}

export interface RetailRequest {
  readonly kind: ActionKind | "total" | "stock";
  /** The customer's first message; everything else has to be asked for. */
  readonly opening: string;
  readonly facts: readonly RetailFact[];
  /** What has to be looked at before anything can be done or said. */
  readonly orderId?: string;
  readonly productId?: string;
  /** Absent where nothing may or need be changed. */
  readonly gold?: RetailAction;
  /** What the customer must be told. */
  readonly outputs: readonly string[];
  /** Against the policy. */
  readonly isRefused: boolean;
}

export interface RetailTask {
  /** Seed of the database. */
  readonly database: number;
  readonly userId: string;
  /** Otherwise the customer is found by name and zip code. */
  readonly knowsEmail: boolean;
  readonly requests: readonly RetailRequest[];
}

export interface RequestOptions extends DatabaseOptions {
  kinds: readonly RequestKind[];
  requests: number;
}

const maxDraws = 1000;

/** A customer with requests about different orders. Gold actions have been applied in order, so they are valid. */
export function drawRetailTask(rng: Rng, options: RequestOptions): RetailTask {
  for (let i = 0; i < maxDraws; i++) {
    const seed = rng.integer(2 ** 31);
    const database = makeDatabase(seed, options);
    const userId = pick(rng, Object.keys(database.users));
    const requests: RetailRequest[] = [];
    for (let k = 0; k < options.requests; k++) {
      const request = drawRequest(rng, database, userId, pick(rng, options.kinds), options.style);
      const isRepeated = requests.some(({ orderId, opening }) => {
        return request?.orderId === undefined ? opening === request?.opening : orderId === request.orderId;
      });
      if (request !== undefined && !isRepeated) requests.push(request);
    }
    const knowsEmail = rng.next() < 0.5;
    if (requests.length === options.requests) return { database: seed, userId, knowsEmail, requests };
  }
  throw new LudusError("no-task", {
    got: `${maxDraws} databases without a customer for ${options.requests} requests`,
    expected: "a customer with enough suitable orders",
    hint: "Raise ordersPerUser or allow more kinds.",
  });
}

function drawRequest(
  rng: Rng,
  database: RetailDatabase,
  userId: string,
  kind: RequestKind,
  style: Style,
): RetailRequest | undefined {
  const orders = database.users[userId].orders.map((id) => database.orders[id]);
  if (kind === "look-up") return drawQuestion(rng, database, orders, style);
  const asked = kind === "refuse" ? pick(rng, refusable) : kind;
  const fitting = orders.filter(({ status }) => (status === statusFor[asked]) === (kind !== "refuse"));
  if (fitting.length === 0) return undefined;
  const drawn = drawAction(rng, database, pick(rng, fitting), asked, style);
  if (drawn === undefined) return undefined;
  const { action, ...request } = drawn;
  if (kind === "refuse") return { ...request, outputs: [], isRefused: true };
  try {
    // earlier requests change the database: a gift card may be empty by now
    applyAction(database, action);
  } catch (error) {
    if (error instanceof ToolError) return undefined;
    throw error;
  }
  return { ...request, gold: action, outputs: [], isRefused: false };
}

const refusable = ["cancel", "items", "return"] as const;
const statusFor = {
  cancel: "pending",
  address: "pending",
  items: "pending",
  return: "delivered",
  exchange: "delivered",
} as const satisfies Record<ActionKind, string>;

const openings: Readonly<Record<ActionKind | "total", string>> = {
  cancel: "Hi, I would like to cancel an order.",
  address: "Hi, I need to change the shipping address of an order.",
  items: "Hello, I want to change something in an order that has not been sent yet.",
  return: "Hi, I would like to return something.",
  exchange: "Hello, I want to exchange something I received.",
  total: "Hi, I would like to know how much I paid for an order.",
};

function drawQuestion(rng: Rng, database: RetailDatabase, orders: readonly Order[], style: Style): RetailRequest {
  if (rng.next() < 0.5) {
    const order = pick(rng, orders);
    const paid = order.payment_history.find(({ transaction_type }) => transaction_type === "payment")!.amount;
    return {
      kind: "total",
      opening: style === "tags" ? openings.total : "total",
      orderId: order.order_id,
      facts: [orderFact(order, style)],
      outputs: [String(paid)],
      isRefused: false,
    };
  }
  const { name, product_id, variants } = pick(rng, Object.values(database.products));
  const count = Object.values(variants).filter(({ available }) => available).length;
  const opening = style === "tags" ? `Hi, how many kinds of ${name} can I buy right now?` : `stock ${name}`;
  return { kind: "stock", opening, facts: [], productId: product_id, outputs: [String(count)], isRefused: false };
}

type DrawnAction = Omit<RetailRequest, "outputs" | "isRefused" | "gold"> & { readonly action: RetailAction };

function drawAction(
  rng: Rng,
  database: RetailDatabase,
  order: Order,
  kind: ActionKind,
  style: Style,
): DrawnAction | undefined {
  const { order_id } = order;
  const start = { kind, opening: style === "tags" ? openings[kind] : kind, orderId: order_id };
  const about = (...more: RetailFact[]) => ({ ...start, facts: [orderFact(order, style), ...more] });
  switch (kind) {
    case "cancel": {
      const reason = pick(rng, cancelReasons);
      return { ...about(reasonFact(reason, style)), action: { name: "cancel_pending_order", order_id, reason } };
    }
    case "address": {
      const address = makeAddress(rng, style);
      const { address1, address2, city, state, zip } = address;
      const place =
        style === "tags" ? [address1, address2, city, state, "USA", zip].join(", ") : [address1, city, zip].join(" ");
      const fact = { topic: "address", say: style === "tags" ? `The new address is ${place}.` : place } as const;
      return { ...about(fact), action: { name: "modify_pending_order_address", order_id, ...address } };
    }
    case "return": {
      const item = pick(rng, order.items);
      const paymentMethodId = order.payment_history[0].payment_method_id;
      const facts = [itemFact(item, undefined, style), payFact(paymentMethodId, style)];
      const action = {
        name: "return_delivered_order_items",
        order_id,
        item_ids: [item.item_id],
        payment_method_id: paymentMethodId,
      } as const;
      return { ...about(...facts), action };
    }
    case "items":
    case "exchange": {
      const item = pick(rng, order.items);
      const { variants, product_id } = database.products[item.product_id];
      const others = Object.values(variants).filter(({ available, item_id }) => available && item_id !== item.item_id);
      const paymentMethodId = pick(rng, Object.keys(database.users[order.user_id].payment_methods));
      if (others.length === 0) return undefined;
      const wanted = pick(rng, others);
      const name = kind === "items" ? "modify_pending_order_items" : "exchange_delivered_order_items";
      const change = {
        order_id,
        item_ids: [item.item_id],
        new_item_ids: [wanted.item_id],
        payment_method_id: paymentMethodId,
      };
      const facts = [itemFact(item, wanted, style), payFact(paymentMethodId, style)];
      return { ...about(...facts), productId: product_id, action: { name, ...change } };
    }
    default:
      return kind satisfies never;
  }
}

function orderFact({ order_id }: Order, style: Style): RetailFact {
  return { topic: "order", say: style === "tags" ? `The order is ${order_id}.` : order_id };
}

/** Compact words for τ-bench's two reasons. */
export const shortReasons: Readonly<Record<string, string>> = {
  "no longer needed": "unneeded",
  "ordered by mistake": "mistake",
};

function reasonFact(reason: string, style: Style): RetailFact {
  return { topic: "reason", say: style === "tags" ? `The reason: ${reason}.` : shortReasons[reason] };
}

function payFact(id: string, style: Style): RetailFact {
  return { topic: "pay", say: style === "tags" ? `Please use ${id}.` : id };
}

function itemFact(item: OrderItem, wanted: Variant | undefined, style: Style): RetailFact {
  const [had, get] = [item.options, wanted?.options ?? {}].map((options) => Object.values(options).join(" "));
  if (style === "compact") return { topic: "item", say: [item.name, had, get].join(" ").trim() };
  const change = wanted === undefined ? "" : ` I want the ${get} one instead.`;
  return { topic: "item", say: `It is the ${had} ${item.name}.${change}` };
}
