import { createRng } from "../../random.ts";
import { type Sites, shippedSites } from "./sites/index.ts";
import type { SiteData, SiteResponse } from "./sites/site.ts";

/** The sites of one episode with their data. The same world gives the same data. */
export class SiteBackend {
  readonly sites: Sites;
  readonly data: Readonly<Record<string, SiteData>>;

  /** Of a world, or with data that are there already. */
  constructor(from: number | SiteBackend["data"], sites: Sites = shippedSites) {
    this.sites = sites;
    if (typeof from !== "number") {
      this.data = from;
      return;
    }
    const named = Object.entries(sites);
    const opened = named.map(([name, site], index) => [name, site.open(createRng(from * named.length + index))]);
    this.data = Object.fromEntries(opened);
  }

  /** The same, with data of its own. */
  copy(): SiteBackend {
    return new SiteBackend(structuredClone(this.data), this.sites);
  }

  /** Undefined for a host that is none of the sites. */
  answer(method: "GET" | "POST", url: URL, form: URLSearchParams): SiteResponse | undefined {
    const [name, site] = Object.entries(this.sites).find(([, known]) => known.host === url.host) ?? [];
    if (name === undefined || site === undefined || url.protocol !== "http:") return undefined;
    const fields = method === "POST" ? form : url.searchParams;
    return site.handle(this.data[name], { method, path: url.pathname, fields });
  }
}
