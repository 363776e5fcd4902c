import type { Rng } from "../../../random.ts";
import { draw, pick } from "../../environments/draw.ts";
import type { PageNode } from "../element.ts";
import {
  button,
  choice,
  field,
  firstPageAbove,
  form,
  hidden,
  link,
  loginPages,
  notFound,
  numberIn,
  page,
  paragraph,
  redirect,
  type Site,
  type SiteData,
  type SiteRequest,
  type SiteResponse,
  table,
  textIn,
} from "./site.ts";
import { colours, goods, people, shippings } from "./words.ts";

export interface Product {
  readonly id: number;
  readonly name: string;
  readonly category: string;
  readonly price: number;
  readonly stock: number;
}

export interface CartLine {
  readonly product: number;
  readonly quantity: number;
}

export interface Order {
  readonly id: number;
  readonly user: string;
  readonly lines: readonly CartLine[];
  readonly address: string;
  readonly shipping: string;
  status: string;
}

export interface ShopData extends SiteData {
  readonly products: readonly Product[];
  cart: CartLine[];
  readonly orders: Order[];
}

const links = [
  ["Products", "/"],
  ["Cart", "/cart"],
  ["Orders", "/orders"],
] as const;
const orderUsers = people.slice(0, 4);

/** Products, a cart, and orders for who is logged in. */
export const shop: Site<ShopData> = {
  name: "shop",
  host: "shop.test",
  open(rng) {
    const products = Object.entries(goods).flatMap(([category, names]) =>
      draw(rng, names, 3).map((name) => ({ name: `${pick(rng, colours)} ${name}`, category })),
    );
    const priced = products.map((product, index) => ({
      id: index + 1,
      ...product,
      price: 5 + rng.integer(90),
      stock: 1 + rng.integer(20),
    }));
    const orders = Array.from({ length: 6 }, (_, index) => drawOrder(rng, 101 + index, priced.length));
    return { user: null, products: priced, cart: [], orders };
  },
  handle(data, request) {
    const answer = loginPages(data, people, request, links) ?? handle(data, request);
    return answer ?? notFound(links, data.user);
  },
  above(data, path) {
    if (path.startsWith("/order?")) return "/orders";
    return path === "/checkout" ? "/cart" : firstPageAbove(data, path);
  },
};

function drawOrder(rng: Rng, id: number, products: number): Order {
  return {
    id,
    user: pick(rng, orderUsers),
    lines: [{ product: 1 + rng.integer(products), quantity: 1 + rng.integer(3) }],
    address: `${1 + rng.integer(90)} Elm Street`,
    shipping: pick(rng, shippings),
    status: pick(rng, ["open", "open", "sent"]),
  };
}

function handle(data: ShopData, request: SiteRequest): SiteResponse | undefined {
  const { method, path, fields } = request;
  const parts = { links, user: data.user };
  const product = data.products.find(({ id }) => id === numberIn(fields, "id"));
  switch (path) {
    case "/":
      return listing(data, fields);
    case "/product":
      return product && showProduct(data, product);
    case "/cart":
      return page({ ...parts, title: "Cart" }, ...cartContent(data));
    case "/cart/add":
      if (method !== "POST" || product === undefined) return undefined;
      addToCart(data, product.id, numberIn(fields, "quantity") ?? 1);
      return redirect("/cart");
    case "/cart/remove":
      if (method !== "POST") return undefined;
      data.cart = data.cart.filter((line) => line.product !== product?.id);
      return redirect("/cart");
    case "/checkout":
      return checkout(data, request);
    case "/orders":
      return data.user === null ? redirect("/login") : ordersPage(data);
    case "/order":
      return orderPage(data, request);
    default:
      return undefined;
  }
}

function addToCart(data: ShopData, product: number, quantity: number): void {
  const before = data.cart.find((line) => line.product === product)?.quantity ?? 0;
  const others = data.cart.filter((line) => line.product !== product);
  const total = Math.min(99, before + quantity);
  data.cart = total === 0 ? others : [...others, { product, quantity: total }];
}

function listing(data: ShopData, fields: URLSearchParams): SiteResponse {
  const query = textIn(fields, "q").toLowerCase();
  const category = fields.get("category") ?? "All";
  const found = data.products.filter(
    (product) => product.name.toLowerCase().includes(query) && (category === "All" || product.category === category),
  );
  const search = form(
    "get",
    "/",
    field("Search", "q", textIn(fields, "q")),
    choice("Category", "category", ["All", ...Object.keys(goods)], category),
    button("Find"),
  );
  const rows = found.map(({ id, name, category, price }) => [link(name, `/product?id=${id}`), category, `$${price}`]);
  return page({ title: "Products", links, user: data.user }, search, table(["Product", "Category", "Price"], rows));
}

function showProduct({ user }: ShopData, { id, name, category, price, stock }: Product): SiteResponse {
  return page(
    { title: name, links, user },
    paragraph(`Price $${price}. ${stock} in stock. Category `, link(category, `/?category=${category}`)),
    form("post", "/cart/add", hidden("id", String(id)), field("Quantity", "quantity", "1"), button("Add to cart")),
  );
}

function nameOf(data: ShopData, product: number): string {
  return data.products.find(({ id }) => id === product)?.name ?? "?";
}

function totalOf(data: ShopData, lines: readonly CartLine[]): number {
  const price = (id: number) => data.products.find((product) => product.id === id)?.price ?? 0;
  return lines.reduce((sum, { product, quantity }) => sum + quantity * price(product), 0);
}

function cartContent(data: ShopData): PageNode[] {
  if (data.cart.length === 0) return [paragraph("The cart is empty.")];
  const rows = data.cart.map(({ product, quantity }) => [
    nameOf(data, product),
    String(quantity),
    form("post", "/cart/remove", hidden("id", String(product)), button(`Remove ${nameOf(data, product)}`)),
  ]);
  return [
    table(["Product", "Quantity", "Change"], rows),
    paragraph(`Total $${totalOf(data, data.cart)}`),
    paragraph(link("Check out", "/checkout")),
  ];
}

function checkout(data: ShopData, { method, fields }: SiteRequest): SiteResponse {
  if (data.user === null) return redirect("/login");
  const parts = { title: "Check out", links, user: data.user };
  const address = textIn(fields, "address");
  if (method === "POST" && address !== "" && data.cart.length > 0) {
    const id = Math.max(...data.orders.map((order) => order.id)) + 1;
    const asked = fields.get("shipping") ?? "";
    const shipping = shippings.find((known) => known === asked) ?? shippings[0];
    data.orders.push({ id, user: data.user, lines: data.cart, address, shipping, status: "open" });
    data.cart = [];
    return redirect(`/order?id=${id}`);
  }
  if (method === "POST") return redirect("/checkout?failed=1");
  return page(
    parts,
    ...(fields.has("failed") ? [paragraph("An address and something in the cart are needed.")] : []),
    paragraph(`Total $${totalOf(data, data.cart)}`),
    form(
      "post",
      "/checkout",
      field("Address", "address"),
      choice("Shipping", "shipping", shippings, shippings[0]),
      button("Place order"),
    ),
  );
}

function ordersPage(data: ShopData): SiteResponse {
  const own = data.orders.filter(({ user }) => user === data.user);
  const rows = own.map(({ id, status, lines }) => [
    link(`Order ${id}`, `/order?id=${id}`),
    status,
    `$${totalOf(data, lines)}`,
  ]);
  return page({ title: "Orders", links, user: data.user }, table(["Order", "Status", "Total"], rows));
}

function orderPage(data: ShopData, { method, fields }: SiteRequest): SiteResponse | undefined {
  if (data.user === null) return redirect("/login");
  const order = data.orders.find(({ id, user }) => id === numberIn(fields, "id") && user === data.user);
  if (order === undefined) return undefined;
  if (method === "POST") {
    if (order.status === "open") order.status = "cancelled";
    return redirect(`/order?id=${order.id}`);
  }
  const lines = order.lines.map(({ product, quantity }) => [nameOf(data, product), String(quantity)]);
  const cancel = form("post", "/order", hidden("id", String(order.id)), button("Cancel order"));
  return page(
    { title: `Order ${order.id}`, links, user: data.user },
    paragraph(`Status ${order.status}`),
    paragraph(`To ${order.address}, ${order.shipping}`),
    table(["Product", "Quantity"], lines),
    ...(order.status === "open" ? [cancel] : []),
  );
}
