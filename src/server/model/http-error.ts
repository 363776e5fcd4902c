import { errorText, LudusError } from "../../errors.ts";

export type ErrorStatus = 400 | 401 | 404 | 413 | 422 | 429 | 500 | 503;

/** An error as a client's library reads it. */
export interface HttpError {
  readonly status: ErrorStatus;
  readonly type: string;
  readonly code: string | null;
  readonly message: string;
  readonly param: string | null;
}

const unavailable = { status: 503, type: "server_error", code: "engine_unavailable" } as const;

const known: Readonly<Record<string, Pick<HttpError, "status" | "type" | "code">>> = {
  "bad-request": { status: 400, type: "invalid_request_error", code: null },
  "body-too-large": { status: 413, type: "invalid_request_error", code: "request_too_large" },
  "wrong-key": { status: 401, type: "authentication_error", code: "invalid_api_key" },
  "no-such-model": { status: 404, type: "invalid_request_error", code: "model_not_found" },
  "no-such-rollout": { status: 404, type: "invalid_request_error", code: "rollout_not_found" },
  "no-such-path": { status: 404, type: "invalid_request_error", code: "unknown_url" },
  "context-too-long": { status: 400, type: "invalid_request_error", code: "context_length_exceeded" },
  "answer-not-json": { status: 422, type: "invalid_response_error", code: "answer_not_json" },
  unwritable: { status: 400, type: "invalid_request_error", code: null },
  // not 429: clients would ask again
  "attempt-over": { status: 400, type: "invalid_request_error", code: "attempt_over" },
  "too-many-requests": { status: 429, type: "rate_limit_error", code: "rate_limit_exceeded" },
  "engine-closed": unavailable,
  "engine-failed": unavailable,
  "worker-died": unavailable,
};

/** Expected failures say what they are; a bug is the server's fault and says no more than its message. */
export function httpError(error: unknown): HttpError {
  const message = errorText(error);
  const kind = error instanceof LudusError ? known[error.code] : undefined;
  const param = error instanceof LudusError && typeof error.details.cause === "string" ? error.details.cause : null;
  return { ...(kind ?? { status: 500, type: "server_error", code: null }), message, param };
}

export function openAiError({ type, code, message, param }: HttpError) {
  return { error: { message, type, param, code } };
}

const geminiStatus: Readonly<Record<ErrorStatus, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  404: "NOT_FOUND",
  413: "INVALID_ARGUMENT",
  422: "FAILED_PRECONDITION",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  503: "UNAVAILABLE",
};

export function geminiError({ status, message }: HttpError) {
  return { error: { code: status, message, status: geminiStatus[status] } };
}

export function anthropicError({ status, type, message }: HttpError) {
  const names: Readonly<Record<string, string>> = { server_error: "api_error" };
  const named = status === 413 ? "request_too_large" : (names[type] ?? type);
  return { type: "error", error: { type: named, message } };
}
