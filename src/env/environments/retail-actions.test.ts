import { beforeEach, describe, expect, test } from "vitest";
import { databaseHash } from "../../scorer/tau-bench.ts";
import { applyAction, type RetailAction } from "./retail-actions.ts";
import { makeDatabase, type RetailDatabase } from "./retail-database.ts";

const home = { address1: "1 Elm", address2: "", city: "Rome", state: "NY", country: "USA", zip: "10115" };
const moved = { ...home, address1: "2 Oak", zip: "10116" };

function shop(): RetailDatabase {
  const item = { name: "mug", product_id: "p1", item_id: "i1", price: 10.5, options: { color: "red" } };
  const paymentHistory = [{ transaction_type: "payment" as const, amount: 10.5, payment_method_id: "gift" }];
  const order = (orderId: string, status: string) => {
    return structuredClone({
      order_id: orderId,
      user_id: "ana",
      address: home,
      items: [item],
      status,
      payment_history: paymentHistory,
    });
  };
  const variant = (itemId: string, color: string, price: number, available = true) => {
    return { item_id: itemId, options: { color }, price, available };
  };
  return {
    users: {
      ana: {
        name: { first_name: "Ana", last_name: "Berg" },
        address: { ...home },
        email: "ana@x",
        payment_methods: {
          gift: { source: "gift_card", id: "gift", balance: 5 },
          card: { source: "credit_card", id: "card" },
          pal: { source: "paypal", id: "pal" },
        },
        orders: ["new", "old"],
      },
    },
    orders: { new: order("new", "pending"), old: order("old", "delivered"), sent: order("sent", "processed") },
    products: {
      p1: {
        name: "mug",
        product_id: "p1",
        variants: {
          i1: variant("i1", "red", 10.5),
          i2: variant("i2", "blue", 14.7),
          i3: variant("i3", "gold", 90),
          i4: variant("i4", "green", 8, false),
          i5: variant("i5", "white", 7.2),
        },
      },
    },
  };
}

let database: RetailDatabase;
beforeEach(() => {
  database = shop();
});

const change = (orderId: string, to: string, paymentMethodId: string) => {
  return { order_id: orderId, item_ids: ["i1"], new_item_ids: [to], payment_method_id: paymentMethodId };
};

describe("what actions do", () => {
  test("a cancelled order is paid back, to the gift card at once", () => {
    applyAction(database, { name: "cancel_pending_order", order_id: "new", reason: "no longer needed" });
    expect(database.orders.new).toMatchObject({ status: "cancelled", cancel_reason: "no longer needed" });
    expect(database.orders.new.payment_history[1]).toEqual({
      transaction_type: "refund",
      amount: 10.5,
      payment_method_id: "gift",
    });
    expect(database.users.ana.payment_methods.gift.balance).toBe(15.5);
  });

  test("addresses of an order and of a user are apart", () => {
    applyAction(database, { name: "modify_pending_order_address", order_id: "new", ...moved });
    expect(database.orders.new.address).toEqual(moved);
    expect(database.users.ana.address).toEqual(home);
    applyAction(database, { name: "modify_user_address", user_id: "ana", ...moved });
    expect(database.users.ana.address).toEqual(moved);
    expect(database.orders.old.address).toEqual(home);
  });

  test("changed items cost or bring the difference, once", () => {
    applyAction(database, { name: "modify_pending_order_items", ...change("new", "i2", "gift") });
    const { items, status, payment_history } = database.orders.new;
    expect(items[0]).toMatchObject({ item_id: "i2", price: 14.7, options: { color: "blue" } });
    expect(status).toBe("pending (item modified)");
    expect(payment_history[1]).toEqual({ transaction_type: "payment", amount: 4.2, payment_method_id: "gift" });
    expect(database.users.ana.payment_methods.gift.balance).toBe(0.8);
    expect(() => applyAction(database, { name: "modify_pending_order_items", ...change("new", "i1", "card") })).toThrow(
      "non-pending order cannot be modified",
    );
  });

  test("cheaper items bring money back", () => {
    applyAction(database, { name: "modify_pending_order_items", ...change("new", "i5", "gift") });
    const refund = { transaction_type: "refund", amount: 3.3, payment_method_id: "gift" };
    expect(database.orders.new.payment_history[1]).toEqual(refund);
    expect(database.users.ana.payment_methods.gift.balance).toBe(8.3);
  });

  test("another way to pay is a payment and a refund", () => {
    applyAction(database, { name: "modify_pending_order_payment", order_id: "new", payment_method_id: "card" });
    expect(database.orders.new.payment_history.slice(1)).toEqual([
      { transaction_type: "payment", amount: 10.5, payment_method_id: "card" },
      { transaction_type: "refund", amount: 10.5, payment_method_id: "gift" },
    ]);
    expect(database.users.ana.payment_methods.gift.balance).toBe(15.5);
  });

  test("returns and exchanges are requested", () => {
    const given = { order_id: "old", item_ids: ["i1"], payment_method_id: "gift" };
    applyAction(database, { name: "return_delivered_order_items", ...given });
    expect(database.orders.old).toMatchObject({
      status: "return requested",
      return_items: ["i1"],
      return_payment_method_id: "gift",
    });
    database = shop();
    applyAction(database, { name: "exchange_delivered_order_items", ...change("old", "i2", "card") });
    expect(database.orders.old).toMatchObject({
      status: "exchange requested",
      exchange_items: ["i1"],
      exchange_new_items: ["i2"],
      exchange_payment_method_id: "card",
      exchange_price_difference: 4.2,
    });
    // the new one has not come yet
    expect(database.orders.old.items[0].item_id).toBe("i1");
  });
});

const wrong: [RetailAction, string][] = [
  [{ name: "cancel_pending_order", order_id: "none", reason: "no longer needed" }, "order not found"],
  [{ name: "cancel_pending_order", order_id: "__proto__", reason: "no longer needed" }, "order not found"],
  [
    { name: "cancel_pending_order", order_id: "old", reason: "no longer needed" },
    "non-pending order cannot be cancelled",
  ],
  [
    { name: "cancel_pending_order", order_id: "sent", reason: "no longer needed" },
    "non-pending order cannot be cancelled",
  ],
  [{ name: "cancel_pending_order", order_id: "new", reason: "whim" }, "invalid reason"],
  [{ name: "modify_pending_order_address", order_id: "sent", ...moved }, "non-pending order cannot be modified"],
  [{ name: "modify_user_address", user_id: "toString", ...moved }, "user not found"],
  [{ name: "modify_pending_order_items", ...change("old", "i2", "card") }, "non-pending order cannot be modified"],
  [{ name: "modify_pending_order_items", ...change("new", "i4", "card") }, "new item i4 not found or available"],
  [{ name: "modify_pending_order_items", ...change("new", "i9", "card") }, "new item i9 not found or available"],
  [{ name: "modify_pending_order_items", ...change("new", "i2", "cash") }, "payment method not found"],
  [
    { name: "modify_pending_order_items", ...change("new", "i3", "gift") },
    "insufficient gift card balance to pay for the new item",
  ],
  [
    { name: "modify_pending_order_items", ...change("new", "i2", "card"), new_item_ids: [] },
    "the number of items to be exchanged should match",
  ],
  [{ name: "modify_pending_order_items", ...change("new", "i2", "card"), item_ids: ["i1", "i1"] }, "i1 not found"],
  [
    { name: "modify_pending_order_payment", order_id: "new", payment_method_id: "gift" },
    "the new payment method should be different from the current one",
  ],
  [
    { name: "return_delivered_order_items", order_id: "new", item_ids: ["i1"], payment_method_id: "gift" },
    "non-delivered order cannot be returned",
  ],
  [
    { name: "return_delivered_order_items", order_id: "old", item_ids: ["i2"], payment_method_id: "gift" },
    "i2 not found",
  ],
  [
    { name: "return_delivered_order_items", order_id: "old", item_ids: ["i1"], payment_method_id: "pal" },
    "payment method should be either the original payment method or a gift card",
  ],
  [
    { name: "exchange_delivered_order_items", ...change("new", "i2", "card") },
    "non-delivered order cannot be exchanged",
  ],
  [
    { name: "exchange_delivered_order_items", ...change("old", "i3", "gift") },
    "insufficient gift card balance to pay for the price difference",
  ],
];

test.each(wrong)("%j is refused and changes nothing", (action, problem) => {
  expect(() => applyAction(database, action)).toThrow(`Error: ${problem}`);
  expect(databaseHash(database)).toBe(databaseHash(shop()));
});

test("an order that was paid twice keeps its payment method", () => {
  applyAction(database, { name: "modify_pending_order_payment", order_id: "new", payment_method_id: "card" });
  expect(() =>
    applyAction(database, { name: "modify_pending_order_payment", order_id: "new", payment_method_id: "pal" }),
  ).toThrow("there should be exactly one payment for a pending order");
});

describe("databases", () => {
  const options = { style: "tags", users: 8, products: 8, ordersPerUser: 3 } as const;

  test("the hash does not see the order of keys, and sees everything else", () => {
    const { users, orders, products } = shop();
    expect(databaseHash({ products, orders, users })).toBe(databaseHash(database));
    database.users.ana.payment_methods.gift.balance = 5.01;
    expect(databaseHash(database)).not.toBe(databaseHash(shop()));
  });

  test("the same seed gives the same database", () => {
    expect(makeDatabase(5, options)).toEqual(makeDatabase(5, options));
    expect(databaseHash(makeDatabase(5, options))).not.toBe(databaseHash(makeDatabase(6, options)));
  });

  test("all that is named exists, and orders are paid in full", () => {
    for (const style of ["tags", "compact"] as const) {
      const { users, orders, products } = makeDatabase(7, { ...options, style });
      expect([Object.keys(users).length, Object.keys(orders).length]).toEqual([8, 24]);
      for (const { user_id, order_id, items, payment_history } of Object.values(orders)) {
        expect(users[user_id].orders).toContain(order_id);
        for (const { product_id, item_id, price } of items) {
          expect(products[product_id].variants[item_id].price).toBe(price);
        }
        const paid = items.reduce((sum, { price }) => sum + price, 0);
        expect(payment_history[0].amount).toBeCloseTo(paid, 6);
        expect(users[user_id].payment_methods).toHaveProperty(payment_history[0].payment_method_id);
      }
    }
  });
});
