import { setImmediate } from "node:timers/promises";

type Counts = ReadonlyMap<string, number>;

/** What keeps this process alive, by kind. */
export function openResources(): Counts {
  return new Map(
    Array.from(
      Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind),
      ([kind, all]) => [kind, all.length],
    ),
  );
}

/**
 * Kinds of which there are about as many more as there were episodes, in words. Servers and pools that stay are fewer. Not quite as
 * many will do: something else that was open before may have ended meanwhile.
 */
export async function leftOpen(before: Counts, episodes: number): Promise<string | undefined> {
  await setImmediate();
  const grown = [...openResources()].flatMap(([kind, count]) => {
    const more = count - (before.get(kind) ?? 0);
    return episodes > 0 && more >= 0.75 * episodes ? [`${more} more of the kind ${kind}`] : [];
  });
  return grown.length === 0 ? undefined : grown.join(", ");
}
