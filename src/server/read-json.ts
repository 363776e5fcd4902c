import type { Context } from "hono";
import { isTooDeep } from "../bounded-json.ts";
import { bounds } from "../bounds.ts";
import { LudusError } from "../errors.ts";

/** The body of a request as JSON; undefined where it is none. One that is too large is not read to its end. */
export async function readJson(context: Context): Promise<unknown> {
  const text = await boundedText(context.req.raw);
  if (isTooDeep(text)) {
    const expected = `at most ${bounds.jsonDepth} levels of arrays and objects`;
    throw new LudusError("bad-request", { got: "a body that is nested deeper", expected });
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function boundedText(request: Request): Promise<string> {
  const said = request.headers.get("content-length");
  if (Number(said ?? 0) > bounds.requestBytes) throw tooLarge(`${said} bytes`);
  if (request.body === null) return "";
  // such a body has the length that it says: HTTP sees to it
  if (said !== null && !request.headers.has("transfer-encoding")) return request.text();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = request.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(chunks).toString("utf8");
    bytes += value.length;
    if (bytes > bounds.requestBytes) {
      await reader.cancel();
      throw tooLarge(`more than ${bounds.requestBytes} bytes`);
    }
    chunks.push(value);
  }
}

function tooLarge(got: string): LudusError {
  return new LudusError("body-too-large", {
    got: `a body of ${got}`,
    expected: `at most ${bounds.requestBytes} bytes`,
  });
}
