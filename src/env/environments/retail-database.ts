import { createRng, type Rng } from "../../random.ts";
import { draw, pick } from "./draw.ts";
import type { Style } from "./moves.ts";

// Names as in τ-bench's JSON: policies read them. Types, because an interface cannot be passed where a JsonValue is expected.

export type Address = {
  address1: string;
  address2: string;
  city: string;
  state: string;
  country: string;
  zip: string;
};

export type PaymentMethod = {
  source: "credit_card" | "gift_card" | "paypal";
  id: string;
  /** Of gift cards. */
  balance?: number;
};

export type RetailCustomer = {
  name: { first_name: string; last_name: string };
  address: Address;
  email: string;
  payment_methods: Record<string, PaymentMethod>;
  orders: string[];
};

export type Variant = {
  item_id: string;
  options: Record<string, string>;
  available: boolean;
  price: number;
};

export type RetailProduct = {
  name: string;
  product_id: string;
  variants: Record<string, Variant>;
};

export type OrderItem = {
  name: string;
  product_id: string;
  item_id: string;
  price: number;
  options: Record<string, string>;
};

export type Payment = {
  transaction_type: "payment" | "refund";
  amount: number;
  payment_method_id: string;
};

export type Order = {
  order_id: string;
  user_id: string;
  address: Address;
  items: OrderItem[];
  /** `pending`, `processed`, `delivered`, `cancelled`, and what actions make of them. */
  status: string;
  payment_history: Payment[];
  cancel_reason?: string;
  return_items?: string[];
  return_payment_method_id?: string;
  exchange_items?: string[];
  exchange_new_items?: string[];
  exchange_payment_method_id?: string;
  exchange_price_difference?: number;
};

export type RetailDatabase = {
  users: Record<string, RetailCustomer>;
  orders: Record<string, Order>;
  products: Record<string, RetailProduct>;
};

export interface DatabaseOptions {
  style: Style;
  users: number;
  products: number;
  ordersPerUser: number;
}

export function roundCents(amount: number): number {
  return Math.round(amount * 100) / 100;
}

const firstNames = ["Ana", "Ben", "Eva", "Ivo", "Lea", "Max", "Mia", "Noa", "Raj", "Tom", "Uma", "Zoe"];
const lastNames = ["Berg", "Cruz", "Diaz", "Khan", "Lopez", "Moore", "Rossi", "Smith", "Tanaka", "Weber"];
const streets = ["Elm", "Oak", "Lake", "Hill", "Park", "Mill", "Pine", "Main"];
const cities = ["Rome", "Oslo", "Bern", "Lima", "Cork", "Nice", "Graz", "Bath"];
const states = ["CA", "NY", "TX", "WA", "FL", "IL"];
const productNames = ["mug", "bag", "lamp", "hat", "desk", "bike", "tent", "watch", "robot", "puzzle"];
const optionValues: Readonly<Record<string, readonly string[]>> = {
  color: ["red", "blue", "green", "black", "white"],
  size: ["small", "medium", "large"],
};
/** The first two of each customer's orders, so that every request finds one. */
const firstStatuses = ["pending", "delivered"];
const statuses = [...firstStatuses, "processed", "cancelled"];

/** The same seed and options give the same database; it is made anew for each episode, and changed there. */
export function makeDatabase(seed: number, options: DatabaseOptions): RetailDatabase {
  const rng = createRng(seed);
  const nextId = makeIds(rng, options.style);
  const database: RetailDatabase = { users: {}, orders: {}, products: {} };
  for (const name of draw(rng, productNames).slice(0, options.products)) {
    const product = makeProduct(rng, name, nextId, options.style);
    database.products[product.product_id] = product;
  }
  for (const first of draw(rng, firstNames).slice(0, options.users)) {
    const [id, customer] = makeCustomer(rng, first, nextId, options.style);
    database.users[id] = customer;
    for (let i = 0; i < options.ordersPerUser; i++) {
      const status = firstStatuses[i] ?? pick(rng, statuses);
      const order = makeOrder(rng, { database, userId: id, id: nextId("order"), status });
      database.orders[order.order_id] = order;
      customer.orders.push(order.order_id);
    }
  }
  return database;
}

type IdKind = "user" | "order" | "product" | "item" | PaymentMethod["source"];

const idForms: Readonly<Record<IdKind, Readonly<Record<Style, readonly [prefix: string, digits: number]>>>> = {
  user: { tags: ["_", 4], compact: ["u", 2] },
  order: { tags: ["#W", 7], compact: ["o", 2] },
  product: { tags: ["", 10], compact: ["p", 2] },
  item: { tags: ["", 10], compact: ["i", 2] },
  credit_card: { tags: ["credit_card_", 7], compact: ["c", 2] },
  gift_card: { tags: ["gift_card_", 7], compact: ["g", 2] },
  paypal: { tags: ["paypal_", 7], compact: ["y", 2] },
};

/** Distinct random numbers, so that ids must be read and cannot be guessed. */
function makeIds(rng: Rng, style: Style): (kind: IdKind) => string {
  const used = new Set<string>();
  return (kind) => {
    const [prefix, digits] = idForms[kind][style];
    for (;;) {
      const id = prefix + (10 ** (digits - 1) + rng.integer(9 * 10 ** (digits - 1)));
      if (used.has(id)) continue;
      used.add(id);
      return id;
    }
  };
}

function makeProduct(rng: Rng, name: string, nextId: (kind: IdKind) => string, style: Style): RetailProduct {
  const { color, size } = optionValues;
  const kinds = style === "compact" ? color.map((each) => ({ color: each })) : pairs(color, size);
  const base = 5 + rng.integer(90);
  const variants = draw(rng, kinds)
    .slice(0, style === "compact" ? 3 : 5)
    .map((options, index): Variant => {
      const price = style === "compact" ? base + rng.integer(9) : roundCents(base + rng.integer(2000) / 100);
      // at least two are available, so that one can be exchanged for another
      return { item_id: nextId("item"), options, available: index < 2 || rng.next() < 0.7, price };
    });
  const byId = Object.fromEntries(variants.map((variant) => [variant.item_id, variant]));
  return { name, product_id: nextId("product"), variants: byId };
}

function pairs(colors: readonly string[], sizes: readonly string[]): Record<string, string>[] {
  return colors.flatMap((color) => sizes.map((size) => ({ color, size })));
}

function makeCustomer(
  rng: Rng,
  first: string,
  nextId: (kind: IdKind) => string,
  style: Style,
): [id: string, RetailCustomer] {
  const last = pick(rng, lastNames);
  const number = nextId("user");
  const sources: PaymentMethod["source"][] = ["credit_card", rng.next() < 0.5 ? "gift_card" : "paypal"];
  const methods = sources.map((source): PaymentMethod => {
    const balance = source === "gift_card" ? { balance: 10 * (1 + rng.integer(10)) } : {};
    return { source, id: nextId(source), ...balance };
  });
  const isShort = style === "compact";
  const customer: RetailCustomer = {
    name: { first_name: first, last_name: last },
    address: makeAddress(rng, style),
    email: isShort ? `${first.toLowerCase()}@x` : `${first}.${last}${number.slice(1)}@example.com`.toLowerCase(),
    payment_methods: Object.fromEntries(methods.map((method) => [method.id, method])),
    orders: [],
  };
  return [isShort ? number : `${first}_${last}${number}`.toLowerCase(), customer];
}

export function makeAddress(rng: Rng, style: Style): Address {
  const [street, number] = [pick(rng, streets), 1 + rng.integer(99)];
  const zip = String(10_000 + rng.integer(89_999));
  const city = pick(rng, cities);
  if (style === "compact") {
    return { address1: `${street}${number}`, address2: "", city, state: "", country: "", zip: zip.slice(0, 3) };
  }
  const address2 = `Suite ${100 + rng.integer(900)}`;
  return { address1: `${number} ${street} Street`, address2, city, state: pick(rng, states), country: "USA", zip };
}

interface OrderFacts {
  readonly database: RetailDatabase;
  readonly userId: string;
  readonly id: string;
  readonly status: string;
}

function makeOrder(rng: Rng, { database, userId, id, status }: OrderFacts): Order {
  const customer = database.users[userId];
  const products = draw(rng, Object.values(database.products)).slice(0, 1 + rng.integer(3));
  const items = products.map(({ name, product_id, variants }): OrderItem => {
    const { item_id, price, options } = pick(rng, Object.values(variants));
    return { name, product_id, item_id, price, options: { ...options } };
  });
  const amount = roundCents(items.reduce((sum, { price }) => sum + price, 0));
  const method = pick(rng, Object.keys(customer.payment_methods));
  return {
    order_id: id,
    user_id: userId,
    address: { ...customer.address },
    items,
    status,
    payment_history: [{ transaction_type: "payment", amount, payment_method_id: method }],
  };
}
