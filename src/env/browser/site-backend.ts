import { createRng } from "../../random.ts";
import { type Sites, shippedSites } from "./sites/index.ts";
import type { SiteData, SiteResponse } from "./sites/site.ts";

/** The sites of one episode with their data. The same world gives the same data. */
export class SiteBackend {
  readonly sites: Sites;
  readonly data: Readonly<Record<string, SiteData>>;

  constructor(world: number, sites: Sites = shippedSites) {
    const named = Object.entries(sites);
    const opened = named.map(([name, site], index) => [name, site.open(createRng(world * named.length + index))]);
    this.sites = sites;
    this.data = Object.fromEntries(opened);
  }

  /** Undefined for a host that is none of the sites. */
  answer(method: "GET" | "POST", url: URL, form: URLSearchParams): SiteResponse | undefined {
    const [name, site] = Object.entries(this.sites).find(([, known]) => known.host === url.host) ?? [];
    if (name === undefined || site === undefined || url.protocol !== "http:") return undefined;
    const fields = method === "POST" ? form : url.searchParams;
    return site.handle(this.data[name], { method, path: url.pathname, fields });
  }
}
