import { z } from "zod";
import type { Guide, MakeGuide } from "./guide.ts";

/** Every task of the split in turn, from the first to the last, then again. */
export function inOrder(): MakeGuide {
  return <Data>(env: Parameters<MakeGuide>[0], split: string): Guide<Data> => {
    let next = 0;
    return {
      name: "in-order",
      async pick(count) {
        const first = next;
        next += count;
        const indices = Array.from({ length: count }, (_, i) => first + i);
        return Promise.all(indices.map(async (index) => (await env.tasks.at(split, index)) as never));
      },
      observe() {},
      state: () => ({ next }),
      restore(state) {
        next = z.object({ next: z.int().min(0) }).parse(state).next;
      },
      metrics: () => ({ "guide/tasks": next }),
    };
  };
}
