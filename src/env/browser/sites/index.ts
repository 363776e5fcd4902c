import { forum } from "./forum.ts";
import { shop } from "./shop.ts";
import type { Site, SiteData } from "./site.ts";
import { tracker } from "./tracker.ts";

export type SiteName = "shop" | "forum" | "tracker";

/** Each site with its own data, which only that site reads. */
export const sites: Readonly<Record<SiteName, Site<SiteData>>> = {
  shop: shop as unknown as Site<SiteData>,
  forum: forum as unknown as Site<SiteData>,
  tracker: tracker as unknown as Site<SiteData>,
};

export const siteNames: readonly SiteName[] = ["shop", "forum", "tracker"];
