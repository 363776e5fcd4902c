import type { Task } from "../../schema/task.ts";
import type { Env } from "../env.ts";
import { show } from "./differences.ts";
import type { Findings } from "./findings.ts";
import type { Play } from "./play.ts";

// of English; what a small policy says is a token a character, and then limits are tighter still
const charsPerToken = 4;

/** How the expert fared. */
export class ExpertRecord {
  readonly #plays: { task: Task; play: Play; needsMoreTurns: boolean }[] = [];

  add(task: Task, play: Play, needsMoreTurns: boolean): void {
    this.#plays.push({ task, play, needsMoreTurns });
  }

  report({ limits }: Env, findings: Findings): void {
    if (this.#plays.length === 0) return;
    const isLate = this.#plays.filter(({ needsMoreTurns }) => needsMoreTurns);
    if (isLate.length > 0) {
      const message = `${isLate.length} of ${this.#plays.length} tasks need more than the ${limits.turns} turns allowed, such as ${isLate[0].task.id}`;
      findings.add("expert-over-limits", message, "turns");
    }
    this.#reportTokens(limits, findings);
    const hasSuccess = this.#plays.some(({ play }) =>
      Object.values(play.transcript.scores).some(({ success }) => success),
    );
    if (hasSuccess || isLate.length > 0) return;
    const { task, play } = this.#plays[0];
    const ended = `${play.transcript.stop} with the score ${show(play.transcript.scores)}`;
    const said = play.texts.length === 0 ? "the expert had nothing to say" : `said ${show(play.texts)}`;
    findings.add(
      "expert-never-succeeds",
      `at none of ${this.#plays.length} tasks; at ${task.id} ${said}, and it ended ${ended}`,
    );
  }

  #reportTokens({ turnTokens, tokens }: Env["limits"], findings: Findings): void {
    const tokensOf = (chars: number) => Math.ceil(chars / charsPerToken);
    for (const { task, play } of this.#plays) {
      const longest = play.texts.reduce((most, text) => (text.length > most.length ? text : most), "");
      if (tokensOf(longest.length) > turnTokens) {
        const message = `at ${task.id} the expert says ${show(longest)}, at least ${tokensOf(longest.length)} tokens; limits.turnTokens is ${turnTokens}`;
        findings.add("expert-over-limits", message, "turnTokens");
      }
      const all = play.texts.reduce((sum, text) => sum + tokensOf(text.length), 0);
      if (all > tokens) {
        const message = `at ${task.id} the expert says at least ${all} tokens in all; limits.tokens is ${tokens}`;
        findings.add("expert-over-limits", message, "tokens");
      }
    }
  }
}
