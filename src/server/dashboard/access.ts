import { createHash, timingSafeEqual } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { isLoopback, isOwnPage } from "../../http-origin.ts";

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

/** Nothing but the page's own files runs, is shown or is asked, whatever a trajectory says. */
export const strictHeaders: MiddlewareHandler = async (context, next) => {
  await next();
  const { headers } = context.res;
  headers.set("content-security-policy", policy);
  headers.set("x-content-type-options", "nosniff");
  headers.set("referrer-policy", "no-referrer");
  headers.set("cross-origin-opener-policy", "same-origin");
  headers.set("cross-origin-resource-policy", "same-origin");
};

/** A page of another name that points here (DNS rebinding) is refused before anything else is looked at. */
export function onlyLoopbackNames(): MiddlewareHandler {
  return async (context, next) => {
    if (isLoopback(context.req.header("host") ?? "")) return next();
    return refuse(context, 421, "wrong-host", "This server answers to loopback names only.");
  };
}

/** Pages of other sites are refused. */
export function onlyOwnPages(): MiddlewareHandler {
  return async (context, next) => {
    if (isOwnPage((name) => context.req.header(name))) return next();
    return refuse(context, 403, "other-site", "Another site's page asked.");
  };
}

/** The page itself holds nothing; what it asks for needs the token: as a cookie, or as a bearer for programs. */
export function requireToken(token: string, cookie: string): MiddlewareHandler {
  return async (context, next) => {
    const bearer = /^Bearer (.+)$/i.exec(context.req.header("authorization") ?? "")?.[1];
    if (isEqual(bearer ?? getCookie(context, cookie) ?? "", token)) return next();
    return refuse(context, 401, "no-token", "Open the address that `ludus dashboard` printed: it has the token in it.");
  };
}

/** `?token=` of the printed address becomes a cookie, and leaves the address so that it is in no history or screenshot. */
export function takeToken(token: string, cookie: string): MiddlewareHandler {
  return async (context, next) => {
    const given = context.req.query("token");
    if (given === undefined) return next();
    const url = new URL(context.req.url);
    url.searchParams.delete("token");
    if (isEqual(given, token)) setCookie(context, cookie, token, { httpOnly: true, sameSite: "Strict", path: "/" });
    return context.redirect(`${url.pathname.replace(/^\/+/, "/")}${url.search}`, 303);
  };
}

function refuse(context: Context, status: 401 | 403 | 421, code: string, message: string): Response {
  return context.json({ error: { code, message } }, status);
}

function isEqual(a: string, b: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
