import type { BrowserContext, Page } from "playwright-core";
import { type SiteAnswer, type SiteAsked, wantsDocument } from "./site-server.ts";

/**
 * Requests of a page are answered before they reach a network, those of redirects included: Playwright's own routes let them pass. Requests of
 * other windows are not answered.
 */
export async function answerInside(
  context: BrowserContext,
  page: Page,
  answer: (request: SiteAsked) => SiteAnswer,
): Promise<void> {
  const session = await context.newCDPSession(page);
  session.on("Fetch.requestPaused", ({ requestId, request }) => {
    const { method, url: address, postData: form = "", headers: asked } = request;
    const isDocument = wantsDocument(asked.Accept ?? asked.accept);
    const { status, headers, body } = answer({ method, address, form, isDocument });
    const said = {
      requestId,
      responseCode: status,
      responseHeaders: Object.entries(headers).map(([name, value]) => ({ name, value })),
      body: Buffer.from(body).toString("base64"),
    };
    // a page that is gone by now needs no answer
    session.send("Fetch.fulfillRequest", said).catch(() => {});
  });
  await session.send("Fetch.enable", { patterns: [{ urlPattern: "*" }] });
}
