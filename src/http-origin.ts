const loopbackName = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/** Whether an address, or a `host` header, is this machine's own. */
export function isLoopback(host: string): boolean {
  return loopbackName.test(host) || host === "::1";
}

/**
 * Whether a request comes from a page of the server itself, or from no page. Browsers say where a page is from, and do not let it
 * say otherwise; other programs say nothing.
 */
export function isOwnPage(header: (name: "sec-fetch-site" | "origin" | "host") => string | undefined): boolean {
  const site = header("sec-fetch-site");
  if (site !== undefined) return site === "same-origin" || site === "none";
  const origin = header("origin");
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === header("host"));
}
