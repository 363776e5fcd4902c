import { forum } from "./forum.ts";
import { shop } from "./shop.ts";
import type { Site, SiteData } from "./site.ts";
import { tracker } from "./tracker.ts";

/** Sites by their names, each with its own data, which only that site reads. */
export type Sites = Readonly<Record<string, Site<SiteData>>>;

export const shippedSites: Sites = { shop, forum, tracker } as unknown as Sites;
