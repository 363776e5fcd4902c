import { expect, test } from "vitest";
import { makeTrajectory, type Trajectory } from "../../schema/index.ts";
import { hostileFields } from "./hostile-fields.ts";

test("a hostile trajectory is one that makeTrajectory allows", () => {
  const base = { id: "a", rollout: "a", weights: "policy", weight: 1, temperature: 1 };
  expect(() => makeTrajectory({ ...base, ...hostileFields() } as Trajectory)).not.toThrow();
});
