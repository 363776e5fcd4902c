import { defined } from "../../defined.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { isJsonObject } from "../../schema/parse-with.ts";
import type { AgentAttempt } from "../agent-attempt.ts";
import { type ModelAccess, modelAccess } from "./model-access.ts";
import { type AgentReply, agentJson, agentUrl, badAnswer, quoted, requestAgent } from "./request-agent.ts";
import { withoutSecrets } from "./without-secrets.ts";

export interface HttpAgentOptions<Answer = string> {
  /** Where tasks are posted. */
  url: string;
  headers?: Readonly<Record<string, string>>;
  /** What is posted, as JSON; `{ task, baseUrl, apiKey, model, id, seed }` by default. */
  body?(task: unknown, access: ModelAccess): unknown;
  /** Reads the agent's JSON. `{ "answer": … }` is expected by default, or plain text. */
  answer?(reply: unknown): Answer;
}

const known: KnownOptions<HttpAgentOptions> = { url: true, headers: true, body: true, answer: true };

/**
 * An agent behind an HTTP endpoint: a function that posts a task, with where the policy is found, and gives the answer. Call it in
 * `run` of `agentEnv`, which has to serve:
 *
 *     const ask = httpAgent({ url: "http://127.0.0.1:9000/ask" });
 *     const env = agentEnv({
 *       name: "helpdesk",
 *       tasks: listed(questions),
 *       serve: {},
 *       run: async ({ question, answer }, attempt) => ((await ask(question, attempt)) === answer ? 1 : 0),
 *     });
 *
 * An agent that is down, fails or answers with something else ends the attempt as `env-crash`; one that takes too long, as
 * `episode-timeout`. Neither is learned from.
 */
export function httpAgent<Answer = string>(
  options: HttpAgentOptions<Answer>,
): (task: unknown, attempt: AgentAttempt) => Promise<Answer> {
  refuseUnknownOptions("httpAgent", options as HttpAgentOptions, known);
  const { headers, body = defaultBody, answer } = options;
  const url = agentUrl("httpAgent", options.url);
  return async (task, attempt) => {
    const access = modelAccess(attempt);
    return withoutSecrets({ ...headers, apiKey: access.apiKey }, async () => {
      const sent = body(task, access);
      const reply = await requestAgent({ url, body: sent, signal: attempt.signal, ...defined({ headers }) });
      // without `answer` there is no other type for it than text
      return answer === undefined ? (answerText(reply, url) as Answer) : answer(agentJson(reply, url));
    });
  };
}

function defaultBody(task: unknown, access: ModelAccess): unknown {
  return { task, ...access };
}

function answerText(reply: AgentReply, url: URL): string {
  if (!reply.isJson) return reply.text;
  const value = agentJson(reply, url);
  if (typeof value === "string") return value;
  if (isJsonObject(value) && typeof value.answer === "string") return value.answer;
  throw badAnswer(quoted(reply.text), '{ "answer": "…" }, or an `answer` of httpAgent that reads it');
}
