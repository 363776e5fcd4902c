import type { Rng } from "../../../random.ts";
import { h, type PageDocument, type PageElement, type PageNode } from "../element.ts";

/** What every back end keeps. It is plain data, so that it can be copied, compared and looked into by evaluators. */
export interface SiteData {
  /** Who is logged in. */
  user: string | null;
}

export interface SiteRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Of the address, or of the form where it was posted. */
  readonly fields: URLSearchParams;
}

export type SiteResponse =
  | { readonly kind: "page"; readonly document: PageDocument }
  | { readonly kind: "redirect"; readonly to: string };

/**
 * A small site with a back end. Pages are made on the server, with links and forms and without scripts, so that the same code answers
 * a browser over HTTP and a page without a browser. `handle` changes `data` and nothing else, and draws no random numbers.
 */
export interface Site<Data extends SiteData = SiteData> {
  readonly name: string;
  readonly host: string;
  open(rng: Rng): Data;
  handle(data: Data, request: SiteRequest): SiteResponse;
  /** The page that links to the one of a path, query included; the first page where absent. Undefined for that, which every page links to. */
  above?(data: Data, path: string): string | undefined;
}

export const passwordOf = (user: string): string => `${user}-pass`;

export function redirect(to: string): SiteResponse {
  return { kind: "redirect", to };
}

export interface PageParts {
  readonly title: string;
  /** Name and address of each link on top. */
  readonly links: readonly (readonly [string, string])[];
  /** Who is logged in; absent on a site without logins. */
  readonly user?: string | null;
}

export function page(parts: PageParts, ...content: readonly PageNode[]): SiteResponse {
  const links = [...parts.links, ...loginLink(parts)].map(([name, to]) => h("li", {}, link(name, to)));
  const body = h(
    "body",
    {},
    h("header", {}, h("nav", {}, h("ul", {}, ...links))),
    h("main", {}, h("h1", {}, parts.title), ...content),
  );
  return { kind: "page", document: { title: parts.title, body } };
}

function loginLink({ user }: PageParts): (readonly [string, string])[] {
  if (user === undefined) return [];
  return [user === null ? ["Log in", "/login"] : ["Log out", "/logout"]];
}

export function link(name: string, to: string): PageElement {
  return h("a", { href: to }, name);
}

export function paragraph(...content: readonly PageNode[]): PageElement {
  return h("p", {}, ...content);
}

export function form(method: "get" | "post", action: string, ...content: readonly PageNode[]): PageElement {
  // a browser would fill in again what was written before going back
  return h("form", { method, action, autocomplete: "off" }, ...content);
}

export function button(name: string): PageElement {
  return h("button", {}, name);
}

export function hidden(name: string, value: string): PageElement {
  return h("input", { type: "hidden", name, value });
}

export function field(label: string, name: string, value = "", type = "text"): PageElement {
  return paragraph(h("label", { for: name }, label), h("input", { id: name, type, name, value }));
}

export function area(label: string, name: string): PageElement {
  return paragraph(h("label", { for: name }, label), h("textarea", { id: name, name }));
}

export function checkbox(label: string, name: string): PageElement {
  return paragraph(h("input", { id: name, type: "checkbox", name, value: "yes" }), h("label", { for: name }, label));
}

export function choice(label: string, name: string, options: readonly string[], chosen: string): PageElement {
  const written = options.map((option) =>
    h("option", option === chosen ? { value: option, selected: "" } : { value: option }, option),
  );
  return paragraph(h("label", { for: name }, label), h("select", { id: name, name }, ...written));
}

export function table(head: readonly string[], rows: readonly (readonly PageNode[])[]): PageElement {
  if (rows.length === 0) return paragraph("None.");
  return h(
    "table",
    {},
    h("thead", {}, h("tr", {}, ...head.map((name) => h("th", {}, name)))),
    h("tbody", {}, ...rows.map((row) => h("tr", {}, ...row.map((cell) => h("td", {}, cell))))),
  );
}

/** The pages for logging in and out, the same on every site. */
export function loginPages(
  data: SiteData,
  users: readonly string[],
  { method, path, fields }: SiteRequest,
  links: PageParts["links"],
): SiteResponse | undefined {
  if (path === "/logout") {
    data.user = null;
    return redirect("/");
  }
  if (path !== "/login") return undefined;
  const name = fields.get("user") ?? "";
  if (method === "POST" && users.includes(name) && fields.get("password") === passwordOf(name)) {
    data.user = name;
    return redirect("/");
  }
  // every page is the answer to a GET, so that going back never posts a form again
  if (method === "POST") return redirect("/login?failed=1");
  return page(
    { title: "Log in", links, user: data.user },
    ...(fields.has("failed") ? [paragraph("Wrong user or password.")] : []),
    form("post", "/login", field("User", "user"), field("Password", "password", "", "password"), button("Log in")),
  );
}

export const firstPageAbove = (_: unknown, path: string): string | undefined => (path === "/" ? undefined : "/");

export function notFound(links: PageParts["links"], user: string | null): SiteResponse {
  return page({ title: "Not found", links, user }, paragraph("There is no such page."));
}

/** A whole number of a field; undefined where it is none. */
export function numberIn(fields: URLSearchParams, name: string): number | undefined {
  const text = fields.get(name) ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}

/** Text of a field, bounded: what a policy writes is kept in the back end. */
export function textIn(fields: URLSearchParams, name: string): string {
  return (fields.get(name) ?? "").trim().slice(0, 2000);
}

/** What pages of a site are made of. */
export const siteParts = {
  ...{ page, link, paragraph, form, field, area, checkbox, choice, button, hidden, table, redirect },
  ...{ loginPages, notFound, numberIn, textIn },
};

export const siteStyle =
  "body{font:15px system-ui,sans-serif;margin:0;color:#1c2430}header{background:#24344d;padding:10px 24px}nav ul{display:flex;gap:20px;list-style:none;margin:0;padding:0}nav a{color:#fff}main{max-width:760px;margin:0 auto;padding:8px 24px 40px}table{border-collapse:collapse;width:100%}td,th{text-align:left;border-bottom:1px solid #d5dbe3;padding:6px 8px}label{margin-right:8px}input,select,textarea,button{font:inherit;padding:4px 8px}button{background:#2b62b8;color:#fff;border:0;border-radius:4px;padding:6px 14px}";
