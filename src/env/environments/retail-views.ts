import type { Style } from "./moves.ts";
import type { Address, Order, RetailCustomer, RetailDatabase, RetailProduct } from "./retail-database.ts";

// τ-bench shows the JSON of its database; compact style has one record a line

export function showCustomer(id: string, customer: RetailCustomer, style: Style): unknown {
  if (style === "tags") return customer;
  const { name, address, email, payment_methods, orders } = customer;
  const methods = Object.values(payment_methods).map(({ id: method, balance }) => {
    return balance === undefined ? method : `${method}:${balance}`;
  });
  const lines = [[id, name.first_name, name.last_name, email], [shortAddress(address)], methods, orders];
  return lines.map((words) => words.join(" ")).join("\n");
}

export function showOrder(order: Order, style: Style): unknown {
  if (style === "tags") return order;
  const { order_id, user_id, status, address, items, payment_history } = order;
  const paid = payment_history.map(({ transaction_type, amount, payment_method_id }) => {
    return `${payment_method_id} ${transaction_type === "refund" ? -amount : amount}`;
  });
  const lines = items.map(({ item_id, product_id, name, options, price }) => {
    return [item_id, product_id, name, ...Object.values(options), price].join(" ");
  });
  return [`${order_id} ${user_id} ${status}`, shortAddress(address), ...paid, ...lines].join("\n");
}

export function showProduct(product: RetailProduct, style: Style): unknown {
  if (style === "tags") return product;
  const lines = Object.values(product.variants).map(({ item_id, options, price, available }) => {
    return [item_id, ...Object.values(options), price, ...(available ? [] : ["out"])].join(" ");
  });
  return [`${product.product_id} ${product.name}`, ...lines].join("\n");
}

export function showTypes({ products }: RetailDatabase, style: Style): unknown {
  const types = Object.values(products).map(({ name, product_id }) => [name, product_id] as const);
  return style === "tags" ? Object.fromEntries(types) : types.map((type) => type.join(" ")).join("\n");
}

function shortAddress({ address1, city, zip }: Address): string {
  return [address1, city, zip].join(" ");
}
