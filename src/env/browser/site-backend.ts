import { createRng } from "../../random.ts";
import { type SiteName, siteNames, sites } from "./sites/index.ts";
import type { SiteData, SiteResponse } from "./sites/site.ts";

/** The sites of one episode with their data. The same world gives the same data. */
export class SiteBackend {
  readonly data: Readonly<Record<SiteName, SiteData>>;

  constructor(world: number) {
    const opened = siteNames.map((name, index) => [
      name,
      sites[name].open(createRng(world * siteNames.length + index)),
    ]);
    this.data = Object.fromEntries(opened);
  }

  /** Undefined for a host that is none of the sites. */
  answer(method: "GET" | "POST", url: URL, form: URLSearchParams): SiteResponse | undefined {
    const name = siteNames.find((known) => sites[known].host === url.host);
    if (name === undefined || url.protocol !== "http:") return undefined;
    const fields = method === "POST" ? form : url.searchParams;
    return sites[name].handle(this.data[name], { method, path: url.pathname, fields });
  }
}
