import { useEffect, useRef, useState } from "react";
import type { ErrorAnswer } from "../../src/server/dashboard/answers.ts";

export class Problem extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

async function ask<Answer>(path: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(`/api${path}`, init);
  const body: unknown = await response.json().catch(() => undefined);
  if (response.ok) return body as Answer;
  const { code, message } = (body as ErrorAnswer | undefined)?.error ?? {
    code: "failed",
    message: response.statusText,
  };
  throw new Problem(response.status, code, message);
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

/** Asks for a path, and again when `version` changes; meanwhile what is known stays, so that nothing jumps. */
export function useAnswer<Answer>(path: string | undefined, version: number = 0): Asked<Answer> {
  const [asked, setAsked] = useState<Asked<Answer> & { path?: string | undefined }>({ isLoading: true });
  const asking = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version is a reason to ask again
  useEffect(() => {
    if (path === undefined) return;
    const turn = ++asking.current;
    const stop = new AbortController();
    get<Answer>(path, stop.signal)
      .then((answer) => turn === asking.current && setAsked({ answer, path, isLoading: false }))
      .catch((error: unknown) => {
        if (stop.signal.aborted || turn !== asking.current) return;
        const problem = error instanceof Problem ? error : new Problem(0, "unreachable", "The server does not answer.");
        setAsked((before) => ({ ...before, problem, path, isLoading: false }));
      });
    return () => stop.abort();
  }, [path, version]);
  return asked.path === path || path === undefined ? asked : { ...asked, isLoading: true };
}
