import type { SiteBackend } from "./site-backend.ts";
import { answerRequest, type ExtraPages, type SiteAnswer, type SiteAsked } from "./site-server.ts";

const passedBy: SiteAnswer = {
  status: 200,
  headers: { "cache-control": "no-store", "content-type": "text/html" },
  body: "",
};

/** The sites of an episode, which know what they answered last: a page that is opened once more must not ask the back end once more. */
export class KeptSites {
  readonly #backend: SiteBackend;
  readonly #extra: ExtraPages | undefined;
  #last: { readonly address: string; readonly answer: SiteAnswer | undefined } | undefined;
  #repeated: { readonly address: string; readonly answer: SiteAnswer } | undefined;
  #answered = 0;

  constructor(backend: SiteBackend, extra: ExtraPages | undefined) {
    this.#backend = backend;
    this.#extra = extra;
  }

  /** Documents that were asked for, those of redirects included. */
  get answered(): number {
    return this.#answered;
  }

  /** Of the document that was asked for last, or to which that led. */
  get lastAddress(): string {
    return this.#last?.address ?? "about:blank";
  }

  /** Whether there may be documents other than those of sites, which have none. */
  get haveScripts(): boolean {
    return this.#extra !== undefined;
  }

  /** The next request for this address is answered as the last one was; or, where it is only passed by, by an empty page. */
  repeat(url: string, isPassedBy: boolean): void {
    const address = withoutHash(url);
    const answer = isPassedBy ? passedBy : this.#last?.address === address ? this.#last.answer : undefined;
    this.#repeated = answer === undefined ? undefined : { address, answer };
  }

  answer(request: SiteAsked): SiteAnswer {
    const repeated = this.#repeated;
    if (repeated !== undefined && request.isDocument && request.address === repeated.address) {
      this.#repeated = undefined;
      return repeated.answer;
    }
    const answer = answerRequest(this.#backend, this.#extra, request);
    if (request.isDocument) {
      this.#answered++;
      const to = answer.headers.location;
      const address = to === undefined ? request.address : new URL(to, request.address).href;
      this.#last = { address: withoutHash(address), answer: to === undefined ? answer : undefined };
    }
    return answer;
  }
}

const withoutHash = (url: string): string => url.split("#", 1)[0];
