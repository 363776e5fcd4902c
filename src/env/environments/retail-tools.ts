import { z } from "zod";
import { readArithmetic } from "../../scorer/arithmetic.ts";
import { type Tool, ToolError } from "../../tool/tool.ts";
import type { ToolMaker } from "../define-env.ts";
import type { Style } from "./moves.ts";
import { applyAction, cancelReasons, findIn, type RetailAction } from "./retail-actions.ts";
import { type Address, type RetailDatabase, roundCents } from "./retail-database.ts";
import { shortReasons } from "./retail-requests.ts";
import { showCustomer, showOrder, showProduct, showTypes } from "./retail-views.ts";

/** What tools read and change. */
export interface RetailToolState {
  readonly database: RetailDatabase;
  /** Ids that were found or looked at, and `types`. */
  readonly looked: Set<string>;
  /** Actions that changed something, as JSON. */
  readonly done: string[];
}

/** τ-bench's names, and words for models that have few tokens. */
export const shortToolNames = {
  calculate: "calc",
  think: "think",
  transfer_to_human_agents: "transfer",
  find_user_id_by_email: "email",
  find_user_id_by_name_zip: "zip",
  list_all_product_types: "types",
  get_user_details: "user",
  get_order_details: "order",
  get_product_details: "product",
  cancel_pending_order: "cancel",
  modify_pending_order_address: "move",
  modify_pending_order_items: "swap",
  modify_pending_order_payment: "pay",
  modify_user_address: "home",
  return_delivered_order_items: "return",
  exchange_delivered_order_items: "exchange",
} as const;
export type RetailToolName = keyof typeof shortToolNames;

/** What a tool is called here. */
export type ToolNames = (name: RetailToolName) => string;
type RetailTools<State> = Readonly<Record<string, Tool<State>>>;

/** In compact style lists are words with commas between, an address has three parts, and results are lines instead of JSON. */
export function retailTools<State extends RetailToolState>(
  tool: ToolMaker<State>,
  style: Style,
  names: ToolNames,
): RetailTools<State> {
  return { ...lookUpTools(tool, style, names), ...orderTools(tool, style, names), ...otherTools(tool, names) };
}

function lookUpTools<State extends RetailToolState>(tool: ToolMaker<State>, style: Style, names: ToolNames) {
  const isUser = (state: State, id: string) => {
    state.looked.add(id);
    return id;
  };
  return {
    [names("find_user_id_by_email")]: tool({
      description: "Finds a user's id by email. When the user is not found, try name and zip code.",
      input: z.object({ email: z.string() }),
      run({ email }, { state }) {
        const found = Object.entries(state.database.users).find(([, user]) => isSame(user.email, email));
        return isUser(state, found?.[0] ?? refuse("user not found"));
      },
    }),
    [names("find_user_id_by_name_zip")]: tool({
      description: "Finds a user's id by first name, last name and zip code.",
      input: z.object({ first_name: z.string(), last_name: z.string(), zip: z.string() }),
      run({ first_name, last_name, zip }, { state }) {
        const found = Object.entries(state.database.users).find(([, { name, address }]) => {
          return isSame(name.first_name, first_name) && isSame(name.last_name, last_name) && address.zip === zip;
        });
        return isUser(state, found?.[0] ?? refuse("user not found"));
      },
    }),
    [names("get_user_details")]: tool({
      description: "Details of a user: name, address, email, payment methods, orders.",
      input: z.object({ user_id: z.string() }),
      run: ({ user_id }, { state }) => {
        const user = findIn(state.database.users, user_id, "user not found");
        state.looked.add(user_id);
        return showCustomer(user_id, user, style);
      },
    }),
    [names("get_order_details")]: tool({
      description: "Status and details of an order.",
      input: z.object({ order_id: z.string() }),
      run: ({ order_id }, { state }) => {
        const order = findIn(state.database.orders, order_id, "order not found");
        state.looked.add(order_id);
        return showOrder(order, style);
      },
    }),
    [names("get_product_details")]: tool({
      description: "The items of a product type: options, price, whether they are available.",
      input: z.object({ product_id: z.string() }),
      run: ({ product_id }, { state }) => {
        const product = findIn(state.database.products, product_id, "product not found");
        state.looked.add(product_id);
        return showProduct(product, style);
      },
    }),
    [names("list_all_product_types")]: tool({
      description: "Names and ids of all product types.",
      input: z.object({}),
      run: (_, { state }) => {
        state.looked.add("types");
        return showTypes(state.database, style);
      },
    }),
  };
}

function orderTools<State extends RetailToolState>(tool: ToolMaker<State>, style: Style, names: ToolNames) {
  const change = (state: State, action: RetailAction) => {
    const changed = applyAction(state.database, action);
    state.done.push(JSON.stringify(action));
    if (style === "tags") return changed;
    return "status" in changed ? changed.status : "ok";
  };
  const list: z.ZodType<string | string[]> = style === "tags" ? z.array(z.string()) : z.string();
  const address: Record<string, z.ZodString> = Object.fromEntries(
    addressParts[style].map((part) => [part, z.string()]),
  );
  const order = { order_id: z.string() };
  const payment = { payment_method_id: z.string() };
  const reason = style === "tags" ? z.enum(cancelReasons) : z.string();
  const items = z.object({ ...order, item_ids: list, new_item_ids: list, ...payment });
  return {
    [names("cancel_pending_order")]: tool({
      description: "Cancels a pending order. The user has to confirm first.",
      input: z.object({ ...order, reason }),
      run: (given, { state }) =>
        change(state, { name: "cancel_pending_order", ...given, reason: longReason(given.reason) }),
    }),
    [names("modify_pending_order_address")]: tool({
      description: "Changes the shipping address of a pending order. The user has to confirm first.",
      input: z.object({ ...order, ...address }),
      run: (given, { state }) => {
        const orderId = given.order_id ?? "";
        return change(state, { name: "modify_pending_order_address", order_id: orderId, ...wholeAddress(given) });
      },
    }),
    [names("modify_pending_order_items")]: tool({
      description:
        "Changes items of a pending order to others of the same product, once. The user has to confirm first.",
      input: items,
      run: (given, { state }) => change(state, { name: "modify_pending_order_items", ...given, ...itemLists(given) }),
    }),
    [names("modify_pending_order_payment")]: tool({
      description: "Changes the payment method of a pending order. The user has to confirm first.",
      input: z.object({ ...order, ...payment }),
      run: (given, { state }) => change(state, { name: "modify_pending_order_payment", ...given }),
    }),
    [names("modify_user_address")]: tool({
      description: "Changes the default address of a user. The user has to confirm first.",
      input: z.object({ user_id: z.string(), ...address }),
      run: (given, { state }) => {
        const userId = given.user_id ?? "";
        return change(state, { name: "modify_user_address", user_id: userId, ...wholeAddress(given) });
      },
    }),
    [names("return_delivered_order_items")]: tool({
      description: "Returns items of a delivered order; the money goes back to the given payment method.",
      input: z.object({ ...order, item_ids: list, ...payment }),
      run: (given, { state }) => {
        return change(state, { name: "return_delivered_order_items", ...given, item_ids: listOf(given.item_ids) });
      },
    }),
    [names("exchange_delivered_order_items")]: tool({
      description: "Exchanges items of a delivered order for others of the same product.",
      input: items,
      run: (given, { state }) =>
        change(state, { name: "exchange_delivered_order_items", ...given, ...itemLists(given) }),
    }),
  };
}

function otherTools<State extends RetailToolState>(tool: ToolMaker<State>, names: ToolNames) {
  return {
    [names("calculate")]: tool({
      description: "Computes an expression of numbers, + - * / and parentheses.",
      input: z.object({ expression: z.string() }),
      run({ expression }) {
        if (!/^[\d+\-*/(). ]*$/.test(expression)) refuse("invalid characters in expression");
        return String(roundCents(readArithmetic(expression)?.value ?? refuse("invalid expression")));
      },
    }),
    [names("think")]: tool({
      description: "Notes a thought. Nothing is found out or changed by it.",
      input: z.object({ thought: z.string() }),
      run: () => "",
    }),
    [names("transfer_to_human_agents")]: tool({
      description: "Hands the user over to a human, with a summary. Only when the policy or the tools cannot help.",
      input: z.object({ summary: z.string() }),
      run(_, { finish }) {
        finish();
        return "Transfer successful";
      },
    }),
  };
}

function refuse(problem: string): never {
  throw new ToolError(`Error: ${problem}`);
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

const addressParts: Readonly<Record<Style, readonly (keyof Address)[]>> = {
  tags: ["address1", "address2", "city", "state", "country", "zip"],
  compact: ["address1", "city", "zip"],
};

function wholeAddress(given: Readonly<Record<string, string>>): Address {
  const { address1 = "", address2 = "", city = "", state = "", country = "", zip = "" } = given;
  return { address1, address2, city, state, country, zip };
}

function longReason(reason: string): string {
  return Object.entries(shortReasons).find(([, short]) => short === reason)?.[0] ?? reason;
}

function listOf(given: string | readonly string[]): readonly string[] {
  return typeof given === "string" ? given.split(",").map((id) => id.trim()) : given;
}

function itemLists(given: { item_ids: string | readonly string[]; new_item_ids: string | readonly string[] }) {
  return { item_ids: listOf(given.item_ids), new_item_ids: listOf(given.new_item_ids) };
}

/** The arguments of the tool of the action's name. */
export function toolArguments({ name, ...given }: RetailAction, style: Style): Record<string, unknown> {
  if (style === "tags") return given;
  const left = name.endsWith("_address") ? ["address2", "state", "country"] : [];
  return Object.fromEntries(
    Object.entries(given)
      .filter(([key]) => !left.includes(key))
      .map(([key, value]) => [key, typeof value === "string" ? (shortReasons[value] ?? value) : value.join(",")]),
  );
}
