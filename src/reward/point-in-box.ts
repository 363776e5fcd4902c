import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { type BoundingBox, isPointInBox, type Point } from "../scorer/point-in-box.ts";
import { parseUiAction } from "../scorer/ui-r1.ts";
import { lastText } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward, ScoredEpisode } from "./reward.ts";

export interface PointInBoxOptions<Data, State> {
  box: (task: Data) => BoundingBox;
  /** Where was clicked, null for nowhere; by default what the last turn's `<answer>` says. */
  point?: (episode: ScoredEpisode<Data, State>) => Point | null;
}

const knownPointInBoxOptions: KnownOptions<PointInBoxOptions<unknown, unknown>> = { box: true, point: true };

/** 1 where the click lies in the box, edges included, else 0. */
export function pointInBox<Data, State = unknown>(options: PointInBoxOptions<Data, State>): Reward<Data, State> {
  refuseUnknownOptions("pointInBox", options, knownPointInBoxOptions);
  const { box, point = (episode) => parseUiAction(lastText(episode)).point } = options;
  return makeReward(
    (episode) => {
      const [wanted, clicked] = [box(episode.task), point(episode)];
      return makeScore({ outcome: clicked !== null && isPointInBox(clicked, wanted) ? 1 : 0 });
    },
    { range: [0, 1] },
  );
}
