import { z } from "zod";
import { parseWith } from "../schema/parse-with.ts";
import type { Guide, GuideContext, MakeGuide } from "./guide.ts";
import { type Leases, leases } from "./leases.ts";

const State = z.object({ next: z.int().min(0), leases: z.unknown().optional() });

/** Every task of the split in turn, from the first to the last, then again. */
export function inOrder(): MakeGuide {
  return function inOrder<Data>({ env, split }: GuideContext<Data>): Guide<Data> {
    let next = 0;
    const underWay: Leases<Data, null> = leases(z.null());
    return {
      name: "in-order",
      async pick(count) {
        const again = underWay.again(count);
        const first = next;
        next += count - again.length;
        const indices = Array.from({ length: count - again.length }, (_, i) => first + i);
        const tasks = await Promise.all(indices.map((index) => env.tasks.at(split, index)));
        return [...again, ...tasks.map((task) => underWay.open(task, null))];
      },
      observe(results) {
        underWay.close(results);
        return [];
      },
      state: () => ({ next, leases: underWay.state() }),
      restore(state) {
        const stored = parseWith(State, state, "the state of in-order", "bad-guide-state");
        underWay.restore(stored.leases);
        next = stored.next;
      },
      metrics: () => ({ "guide/tasks": next }),
    };
  };
}
