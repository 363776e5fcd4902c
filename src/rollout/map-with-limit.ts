import { LudusError } from "../errors.ts";

/** Like `Promise.all` over a mapped list, with at most `limit` at work at once. The first failure stops new ones. */
export async function mapWithLimit<In, Out>(
  items: readonly In[],
  limit: number,
  work: (item: In, index: number) => Promise<Out>,
): Promise<Out[]> {
  if (!(limit >= 1)) throw new LudusError("bad-concurrency", { got: `${limit}`, expected: "at least 1" });
  const results = new Array<Out>(items.length);
  let next = 0;
  let isStopped = false;
  async function worker(): Promise<void> {
    while (next < items.length && !isStopped) {
      const index = next++;
      try {
        results[index] = await work(items[index]!, index);
      } catch (error) {
        isStopped = true;
        throw error;
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}
