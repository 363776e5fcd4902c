import { AsyncLocalStorage } from "node:async_hooks";

/** Who answers what is asked of a model, and for which rollout. */
export interface CaptureScope {
  readonly rollout: string;
  readonly app: { fetch(request: Request): Response | Promise<Response> };
}

const scopes = new AsyncLocalStorage<CaptureScope>();
/** The end of the path of a model's protocol. Google's has the model's name and the method in it. */
const modelPaths =
  /\/(chat\/completions|responses|messages|models|models\/[^/]+:(?:generateContent|streamGenerateContent))\/?$/;
let patches = 0;
let original: typeof fetch | undefined;

/** Whatever `run` asks of a model with `fetch`, now or later, is answered in this scope. */
export function runInScope<Value>(scope: CaptureScope, run: () => Promise<Value>): Promise<Value> {
  return scopes.run(scope, run);
}

/** Outside of scopes it does what it did before. */
export function patchFetch(): void {
  if (patches++ > 0) return;
  original = globalThis.fetch;
  globalThis.fetch = capturedFetch;
}

export function unpatchFetch(): void {
  if (--patches > 0 || original === undefined) return;
  globalThis.fetch = original;
  original = undefined;
}

async function capturedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const scope = scopes.getStore();
  const { pathname, search } = new URL(input instanceof Request ? input.url : input);
  const asked = modelPaths.exec(pathname)?.[1];
  if (scope === undefined || asked === undefined) return (original ?? fetch)(input, init);
  const url = new URL(`http://localhost/rollouts/${encodeURIComponent(scope.rollout)}/v1/${asked}${search}`);
  return scope.app.fetch(new Request(url, new Request(input, init)));
}
