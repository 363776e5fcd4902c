import { z } from "zod";
import { compact } from "../../policy/formats/compact.ts";
import { worldContract } from "../../rollout/world.contract.ts";
import { generated } from "../../task/generated.ts";
import { defineEnv } from "../define-env.ts";

/** Two players, a tool and chance. */
const dice = defineEnv({
  name: "dice",
  tasks: generated((rng) => ({ sides: 2 + rng.integer(5) })),
  start: ({ task }) => ({ state: { thrown: 0 }, say: `${task.sides} sides` }),
  tools: (tool) => ({
    throw: tool({
      input: z.object({ times: z.number() }),
      run: ({ times }, { state, rng }) => (state.thrown += times * rng.integer(6)),
    }),
  }),
  act: ({ state, rng, turn, answer }) => {
    state.thrown += rng.integer(6) + answer.length;
    return { say: `${state.thrown}`, reward: state.thrown % 2, next: turn % 2 === 0 ? "b" : "a" };
  },
  score: ({ state }) => state.thrown,
  expert: () => ({ calls: [{ name: "throw", arguments: { times: 2 } }] }),
  actions: () => ["a", "b"],
  roles: ["a", "b"],
  format: compact(),
  limits: { turns: 5, turnTokens: 8 },
});

worldContract("an environment with tools and two roles", () => dice);
