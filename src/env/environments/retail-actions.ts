import { ToolError } from "../../tool/tool.ts";
import {
  type Address,
  type Order,
  type PaymentMethod,
  type RetailCustomer,
  type RetailDatabase,
  roundCents,
  type Variant,
} from "./retail-database.ts";

export const cancelReasons = ["no longer needed", "ordered by mistake"] as const;

/** What changes the database, by τ-bench's names: gold actions are replayed with them. */
export type RetailAction =
  | { readonly name: "cancel_pending_order"; readonly order_id: string; readonly reason: string }
  | ({ readonly name: "modify_pending_order_address"; readonly order_id: string } & Readonly<Address>)
  | ({ readonly name: "modify_pending_order_items" } & ItemChange)
  | ({ readonly name: "modify_pending_order_payment" } & OrderPayment)
  | ({ readonly name: "modify_user_address"; readonly user_id: string } & Readonly<Address>)
  | ({ readonly name: "return_delivered_order_items"; readonly item_ids: readonly string[] } & OrderPayment)
  | ({ readonly name: "exchange_delivered_order_items" } & ItemChange);

interface OrderPayment {
  readonly order_id: string;
  readonly payment_method_id: string;
}

interface ItemChange extends OrderPayment {
  readonly item_ids: readonly string[];
  readonly new_item_ids: readonly string[];
}

/** Changes the database and gives what was changed, or throws in τ-bench's words and changes nothing. */
export function applyAction(database: RetailDatabase, action: RetailAction): Order | RetailCustomer {
  switch (action.name) {
    case "cancel_pending_order":
      return cancel(database, action.order_id, action.reason);
    case "modify_pending_order_address": {
      const order = pendingOrder(database, action.order_id, "modified");
      order.address = addressOf(action);
      return order;
    }
    case "modify_pending_order_items":
      return modifyItems(database, action);
    case "modify_pending_order_payment":
      return modifyPayment(database, action);
    case "modify_user_address": {
      const user = findIn(database.users, action.user_id, "user not found");
      user.address = addressOf(action);
      return user;
    }
    case "return_delivered_order_items":
      return returnItems(database, action);
    case "exchange_delivered_order_items":
      return exchangeItems(database, action);
    default:
      return action satisfies never;
  }
}

/** Policies choose the keys, and `__proto__` is one. */
export function findIn<Value>(record: Readonly<Record<string, Value>>, key: string, problem: string): Value {
  const found = Object.hasOwn(record, key) ? record[key] : undefined;
  return found ?? refuse(problem);
}

function refuse(problem: string): never {
  throw new ToolError(`Error: ${problem}`);
}

function pendingOrder(database: RetailDatabase, id: string, participle: string): Order {
  const order = findIn(database.orders, id, "order not found");
  return order.status === "pending" ? order : refuse(`non-pending order cannot be ${participle}`);
}

function deliveredOrder(database: RetailDatabase, id: string, participle: string): Order {
  const order = findIn(database.orders, id, "order not found");
  return order.status === "delivered" ? order : refuse(`non-delivered order cannot be ${participle}`);
}

function methodOf(database: RetailDatabase, order: Order, id: string): PaymentMethod {
  return findIn(database.users[order.user_id].payment_methods, id, "payment method not found");
}

function addressOf({ address1, address2, city, state, country, zip }: Address): Address {
  return { address1, address2, city, state, country, zip };
}

function cancel(database: RetailDatabase, orderId: string, reason: string): Order {
  const order = pendingOrder(database, orderId, "cancelled");
  if (!cancelReasons.some((known) => known === reason)) refuse("invalid reason");
  const refunds = order.payment_history.map(({ amount, payment_method_id }) => {
    const method = methodOf(database, order, payment_method_id);
    if (method.balance !== undefined) method.balance = roundCents(method.balance + amount);
    return { transaction_type: "refund" as const, amount, payment_method_id };
  });
  order.payment_history.push(...refunds);
  order.status = "cancelled";
  order.cancel_reason = reason;
  return order;
}

interface Difference {
  /** What the new items cost more; below 0 where less. */
  readonly amount: number;
  readonly variants: readonly Variant[];
  readonly method: PaymentMethod;
}

/** Checks an exchange of items, pending or delivered, and says what it costs. */
function checkChange(database: RetailDatabase, order: Order, change: ItemChange, forWhat: string): Difference {
  checkItems(order, change.item_ids);
  if (change.item_ids.length !== change.new_item_ids.length) refuse("the number of items to be exchanged should match");
  const variants = change.item_ids.map((id, index) => {
    const product = database.products[order.items.find((item) => item.item_id === id)!.product_id];
    const newId = change.new_item_ids[index];
    const variant = findIn(product.variants, newId, `new item ${newId} not found or available`);
    return variant.available ? variant : refuse(`new item ${newId} not found or available`);
  });
  const before = change.item_ids.map((id) => order.items.find((item) => item.item_id === id)!.price);
  const amount = roundCents(variants.reduce((sum, { price }, index) => sum + price - before[index], 0));
  const method = methodOf(database, order, change.payment_method_id);
  if ((method.balance ?? Number.POSITIVE_INFINITY) < amount) {
    refuse(`insufficient gift card balance to pay for the ${forWhat}`);
  }
  return { amount, variants, method };
}

function checkItems(order: Order, ids: readonly string[]): void {
  const count = (id: string, list: readonly string[]) => list.filter((each) => each === id).length;
  const had = order.items.map(({ item_id }) => item_id);
  const missing = ids.find((id) => count(id, ids) > count(id, had));
  if (missing !== undefined) refuse(`${missing} not found`);
}

function modifyItems(database: RetailDatabase, change: ItemChange): Order {
  const order = pendingOrder(database, change.order_id, "modified");
  const { amount, variants, method } = checkChange(database, order, change, "new item");
  if (method.balance !== undefined) method.balance = roundCents(method.balance - amount);
  const type = amount > 0 ? "payment" : "refund";
  order.payment_history.push({ transaction_type: type, amount: Math.abs(amount), payment_method_id: method.id });
  for (const [index, id] of change.item_ids.entries()) {
    const item = order.items.find(({ item_id }) => item_id === id)!;
    const { item_id, price, options } = variants[index];
    Object.assign(item, { item_id, price, options: { ...options } });
  }
  order.status = "pending (item modified)";
  return order;
}

function modifyPayment(database: RetailDatabase, { order_id, payment_method_id }: OrderPayment): Order {
  const order = pendingOrder(database, order_id, "modified");
  const method = methodOf(database, order, payment_method_id);
  const [paid, ...more] = order.payment_history;
  if (paid?.transaction_type !== "payment" || more.length > 0) {
    return refuse("there should be exactly one payment for a pending order");
  }
  if (paid.payment_method_id === payment_method_id) {
    refuse("the new payment method should be different from the current one");
  }
  const { amount } = paid;
  if ((method.balance ?? Number.POSITIVE_INFINITY) < amount) {
    refuse("insufficient gift card balance to pay for the order");
  }
  const old = methodOf(database, order, paid.payment_method_id);
  if (method.balance !== undefined) method.balance = roundCents(method.balance - amount);
  if (old.balance !== undefined) old.balance = roundCents(old.balance + amount);
  order.payment_history.push(
    { transaction_type: "payment", amount, payment_method_id },
    { transaction_type: "refund", amount, payment_method_id: old.id },
  );
  return order;
}

function returnItems(database: RetailDatabase, given: OrderPayment & { item_ids: readonly string[] }): Order {
  const order = deliveredOrder(database, given.order_id, "returned");
  const method = methodOf(database, order, given.payment_method_id);
  const isOriginal = order.payment_history[0]?.payment_method_id === method.id;
  if (!isOriginal && method.source !== "gift_card") {
    refuse("payment method should be either the original payment method or a gift card");
  }
  checkItems(order, given.item_ids);
  order.status = "return requested";
  order.return_items = given.item_ids.toSorted();
  order.return_payment_method_id = method.id;
  return order;
}

function exchangeItems(database: RetailDatabase, change: ItemChange): Order {
  const order = deliveredOrder(database, change.order_id, "exchanged");
  const { amount, method } = checkChange(database, order, change, "price difference");
  order.status = "exchange requested";
  order.exchange_items = change.item_ids.toSorted();
  order.exchange_new_items = change.new_item_ids.toSorted();
  order.exchange_payment_method_id = method.id;
  order.exchange_price_difference = amount;
  return order;
}
