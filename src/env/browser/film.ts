import { defined } from "../../defined.ts";
import type { DoAction } from "./do-actions.ts";
import type { PageDriver, PageView } from "./page-driver.ts";
import { compactLines } from "./snapshot-text.ts";
import { readSnapshot } from "./snapshot-view.ts";

const maxNameChars = 100;

/** What a turn keeps of the page before its action, for the dashboard: `screenshot`, `box` and `element`. */
export async function frameFacts(
  page: PageDriver,
  { snapshot }: PageView,
  action: DoAction | undefined,
): Promise<Record<string, string>> {
  const target = action !== undefined && "target" in action ? action.target : undefined;
  const element = readSnapshot(snapshot).find(({ ref }) => ref !== undefined && ref === target);
  // a picture that cannot be taken costs the episode nothing
  const frame = await Promise.resolve(page.film?.(target)).catch(() => undefined);
  return defined({
    screenshot: frame?.image,
    box: frame?.box?.map((share) => share.toFixed(4)).join(" "),
    element: element && `${element.role} ${element.name}`.slice(0, maxNameChars),
  }) as Record<string, string>;
}

const maxChangesChars = 2000;

/** Lines of a page that an action took away and added, each with its sign, without refs. */
export function changesBetween(before: PageView, after: PageView): string {
  const [old, fresh] = [before, after].map(({ snapshot }) => compactLines(snapshot, false));
  const [had, has] = [new Set(old), new Set(fresh)];
  const moved = before.url === after.url ? [] : [`- ${before.url}`, `+ ${after.url}`];
  const gone = old.filter((line) => !has.has(line)).map((line) => `- ${line}`);
  const added = fresh.filter((line) => !had.has(line)).map((line) => `+ ${line}`);
  return [...moved, ...gone, ...added].join("\n").slice(0, maxChangesChars);
}
