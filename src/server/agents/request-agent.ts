import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { parseBoundedJson } from "../../bounded-json.ts";
import { bounds } from "../../bounds.ts";
import { cutText } from "../../cut-text.ts";
import { errorText, LudusError } from "../../errors.ts";

export interface AgentRequest {
  readonly url: URL;
  /** JSON, posted; where absent, what is there is fetched. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

export interface AgentReply {
  readonly text: string;
  readonly isJson: boolean;
}

/** An address that can be asked; what is wrong with it is said before anybody asks. */
export function agentUrl(what: string, url: string): URL {
  const read = URL.parse(url);
  if (read?.protocol === "http:" || read?.protocol === "https:") return read;
  throw new LudusError("bad-config", {
    got: `${what} with the url "${url}"`,
    expected: "an address with http or https",
  });
}

/**
 * Asks an agent over HTTP. By hand: `fetch` would be captured, follows redirects, and gives up on an agent that takes five minutes.
 * Throws `agent-unreachable`, `agent-failed` or `bad-agent-answer`, or the signal's reason.
 */
export async function requestAgent({ url, body, headers = {}, signal }: AgentRequest): Promise<AgentReply> {
  signal.throwIfAborted();
  const response = await answerOf(url, body, headers, signal);
  const text = await boundedText(response, url, signal);
  const { statusCode = 0 } = response;
  if (statusCode < 200 || statusCode > 299) {
    const { location: to } = response.headers;
    // without a query, as all addresses here
    const location = to === undefined ? "" : ` (to ${to.replace(/[?#].*$/s, "")})`;
    throw new LudusError("agent-failed", {
      got: `status ${statusCode}${location} from ${shown(url)}: ${quoted(text)}`,
      expected: "an answer with a status of 2xx",
    });
  }
  return { text, isJson: /^application\/(?:[\w.+-]+\+)?json\b/i.test(response.headers["content-type"] ?? "") };
}

/** A reply as JSON. */
export function agentJson({ text }: AgentReply, url: URL): unknown {
  try {
    return parseBoundedJson(text);
  } catch (cause) {
    throw badAnswer(`${quoted(text)} from ${shown(url)}: ${errorText(cause)}`, "JSON");
  }
}

export function badAnswer(got: string, expected: string): LudusError {
  return new LudusError("bad-agent-answer", { got, expected });
}

/** The beginning of what was received, for a message. */
export function quoted(text: string): string {
  return text === "" ? "nothing" : JSON.stringify(cutText(text, bounds.quotedChars));
}

function answerOf(url: URL, body: unknown, headers: Readonly<Record<string, string>>, signal: AbortSignal) {
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const ask = url.protocol === "https:" ? httpsRequest : httpRequest;
  const about =
    sent === undefined ? {} : { "content-type": "application/json", "content-length": `${Buffer.byteLength(sent)}` };
  return new Promise<IncomingMessage>((resolve, reject) => {
    // a connection of its own: one that is kept open may be closed by the agent just when it is used again
    const options = { method: sent === undefined ? "GET" : "POST", agent: false as const, signal };
    const asked = ask(url, { ...options, headers: { accept: "application/json", ...about, ...headers } }, resolve);
    asked.on("error", (cause) => {
      if (signal.aborted) return reject(signal.reason);
      reject(
        new LudusError("agent-unreachable", {
          got: `${errorText(cause) || "no connection"} at ${shown(url)}`,
          expected: "an agent that answers there",
          hint: "Is it started? Does it listen at that address?",
          cause,
        }),
      );
    });
    asked.end(sent);
  });
}

async function boundedText(response: IncomingMessage, url: URL, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bounds.agentAnswerBytes) {
        response.destroy();
        throw badAnswer(`more than ${bounds.agentAnswerBytes} bytes from ${shown(url)}`, "a shorter answer");
      }
      chunks.push(chunk);
    }
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof LudusError) throw cause;
    throw new LudusError("agent-failed", {
      got: `${errorText(cause)} in the middle of what ${shown(url)} answered`,
      expected: "a whole answer",
      cause,
    });
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Without a query: keys stand there. */
function shown({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
