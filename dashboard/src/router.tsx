import { type AnchorHTMLAttributes, useMemo, useSyncExternalStore } from "react";

export interface Place {
  /** Parts of the path, decoded. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

const listeners = new Set<() => void>();
const announce = () => {
  for (const listener of listeners) listener();
};
window.addEventListener("popstate", announce);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The current address, kept up to date. */
export function usePlace(): Place {
  const href = useSyncExternalStore(subscribe, () => `${location.pathname}${location.search}`);
  return useMemo(() => {
    const url = new URL(href, location.origin);
    const path = url.pathname.split("/").filter((part) => part !== "");
    return { path: path.map(decode), query: url.searchParams };
  }, [href]);
}

/** An address typed by hand may not be valid percent-encoding. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A number of the query; `otherwise` where it is absent or no number. */
export function queryNumber(query: URLSearchParams, name: string, otherwise: number): number {
  const text = query.get(name);
  const value = Number(text ?? Number.NaN);
  return text === "" || !Number.isFinite(value) ? otherwise : value;
}

export function go(href: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  if (!options.replace) window.scrollTo(0, 0);
  announce();
}

type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** An address from path segments and a query; undefined and empty values are left out. */
export function href(parts: readonly (string | number)[], query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each));
  }
  const text = search.toString();
  return `/${parts.map((part) => encodeURIComponent(part)).join("/")}${text === "" ? "" : `?${text}`}`;
}

/** Changes parts of the query without a new history entry. Filters and settings live in the address, so that links keep them. */
export function setQuery(changes: Query): void {
  const search = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    search.delete(name);
    if (value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each));
  }
  const text = search.toString();
  go(`${location.pathname}${text === "" ? "" : `?${text}`}`, { replace: true });
}

export const Link = ({ href: to, children, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) => (
  <a
    {...rest}
    href={to}
    onClick={(event) => {
      if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
      event.preventDefault();
      go(to);
    }}
  >
    {children}
  </a>
);
