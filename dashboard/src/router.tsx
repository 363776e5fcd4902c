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

/** Where the address says we are. */
export function usePlace(): Place {
  const href = useSyncExternalStore(subscribe, () => `${location.pathname}${location.search}`);
  return useMemo(() => {
    const url = new URL(href, location.origin);
    const path = url.pathname.split("/").filter((part) => part !== "");
    return { path: path.map(decodeURIComponent), query: url.searchParams };
  }, [href]);
}

export function go(href: string, options: { replace?: boolean } = {}): void {
  if (options.replace) history.replaceState(null, "", href);
  else history.pushState(null, "", href);
  if (!options.replace) window.scrollTo(0, 0);
  announce();
}

type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** A path of parts and a query; what is undefined or empty is left out. */
export function href(parts: readonly (string | number)[], query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === "") continue;
    for (const each of Array.isArray(value) ? value : [value]) search.append(name, String(each));
  }
  const text = search.toString();
  return `/${parts.map((part) => encodeURIComponent(part)).join("/")}${text === "" ? "" : `?${text}`}`;
}

/** The address with some of its query changed, in place: filters and settings are part of a link. */
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
