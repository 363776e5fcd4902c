import type { Engine } from "../../../src/engine/engine.ts";
import type { RolloutPlan } from "./cells.ts";

/** All rollouts beside each other, turn by turn, each with its own history. */
export async function playTurns(engine: Engine, plans: readonly RolloutPlan[], round: number): Promise<void> {
  await Promise.all(
    plans.map(async ({ prompt, turns }, i) => {
      const rollout = `${round}-${i}`;
      let history = prompt;
      for (const [turn, { fresh, observation }] of turns.entries()) {
        const seed = (round * plans.length + i) * turns.length + turn;
        const { tokens } = await engine.sample({ tokens: history, maxTokens: fresh, seed, rollout });
        if (turn === turns.length - 1) break;
        const next = new Int32Array(history.length + tokens.length + observation.length);
        next.set(history);
        next.set(tokens, history.length);
        next.set(observation, history.length + tokens.length);
        history = next;
      }
      await engine.release({ rollout });
    }),
  );
}

/** As many new tokens in a single turn, without observations. */
export async function playSingle(engine: Engine, plans: readonly RolloutPlan[], round: number): Promise<void> {
  await Promise.all(
    plans.map(({ prompt, turns }, i) => {
      const maxTokens = turns.reduce((sum, { fresh }) => sum + fresh, 0);
      return engine.sample({ tokens: prompt, maxTokens, seed: round * plans.length + i });
    }),
  );
}
