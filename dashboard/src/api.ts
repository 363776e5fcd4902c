import { useEffect, useRef, useState } from "react";
import type { ErrorAnswer } from "../../src/server/dashboard/answers.ts";

/** A request that failed. Status 0: there was no response. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Whatever a request threw, as a problem that can be shown. */
export function toProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, "unreachable", "The server does not respond.");
}

async function ask<Answer>(path: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(`/api${path}`, init);
  const text = await response.text();
  const body = parseJson(text);
  if (!response.ok) throw errorOf(response, body);
  if (body === undefined) {
    throw new Problem(response.status, "malformed-response", `Not JSON: ${text.slice(0, 80) || "an empty body"}`);
  }
  return body as Answer;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A proxy in between may answer with a body of its own. */
function errorOf(response: Response, body: unknown): Problem {
  const error = (body as Partial<ErrorAnswer> | null | undefined)?.error;
  if (typeof error?.code === "string") return new Problem(response.status, error.code, error.message);
  return new Problem(response.status, "failed", `HTTP ${response.status} ${response.statusText}`.trim());
}

export function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  return ask(path, signal === undefined ? {} : { signal });
}

export function post<Answer>(path: string, body: unknown): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
}

export interface Asked<Answer> {
  readonly answer?: Answer;
  readonly problem?: Problem;
  readonly isLoading: boolean;
}

/**
 * Requests a path, and again when `version` changes. Meanwhile, and when a refresh fails, the previous answer stays, so that
 * the layout does not shift; when another path fails, it is dropped.
 */
export function useAnswer<Answer>(path: string | undefined, version: number = 0): Asked<Answer> {
  const [asked, setAsked] = useState<Asked<Answer> & { path?: string | undefined }>({ isLoading: true });
  const asking = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version is a reason to request again
  useEffect(() => {
    if (path === undefined) return;
    const turn = ++asking.current;
    const stop = new AbortController();
    get<Answer>(path, stop.signal)
      .then((answer) => turn === asking.current && setAsked({ answer, path, isLoading: false }))
      .catch((error: unknown) => {
        if (stop.signal.aborted || turn !== asking.current) return;
        const failed = { problem: toProblem(error), path, isLoading: false };
        setAsked((before) => (before.path === path ? { ...before, ...failed } : failed));
      });
    return () => stop.abort();
  }, [path, version]);
  return asked.path === path || path === undefined ? asked : { ...asked, isLoading: true };
}
