import { describe } from "vitest";
import { z } from "zod";
import { parseWith } from "../schema/parse-with.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import { guideContract } from "./guide.contract.ts";
import type { Guide, GuideContext, MakeGuide } from "./guide.ts";
import { inOrder } from "./in-order.ts";

const State = z.object({ tasks: z.unknown(), relabelled: z.int().min(0) });

/** Hindsight, as small as it can be: failed attempts are also learned from as attempts at another task, at which they succeeded. */
const hindsight: MakeGuide = <Data>(context: GuideContext<Data>): Guide<Data> => {
  const tasks = inOrder()(context);
  let relabelled = 0;
  return {
    name: "hindsight",
    pick: (count) => tasks.pick(count),
    async observe(results) {
      await tasks.observe(results);
      const failed = results.filter(({ group }) => group.trajectories.every(({ score }) => !score.success));
      relabelled += failed.length;
      return failed.map(({ group }) => asSolved(group));
    },
    state: () => ({ tasks: tasks.state(), relabelled }),
    restore(state) {
      const stored = parseWith(State, state, "the state of hindsight", "bad-guide-state");
      tasks.restore(stored.tasks);
      relabelled = stored.relabelled;
    },
    metrics: () => ({ ...tasks.metrics(), "guide/relabelled": relabelled }),
  };
};

function asSolved<Data>({ task, trajectories }: TrajectoryGroup<Data>): TrajectoryGroup<Data> {
  const id = `${task.id}/relabelled`;
  return {
    task: { ...task, id, parent: task.id },
    trajectories: trajectories.map((each) => ({
      ...each,
      id: `${each.id}/relabelled`,
      rollout: `${each.rollout}/relabelled`,
      taskId: id,
      score: { total: 1, parts: {}, success: true },
    })),
  };
}

describe("a guide that adds groups", () => guideContract(() => hindsight));
