import type { Env } from "../../src/env/env.ts";
import { type SearchQaState, type SearchQaTask, searchQa } from "../../src/env/environments/search-qa.ts";

/** The quickstart's: the page plays in the world that the agent was trained in. */
export function world(): Env<SearchQaTask, SearchQaState> {
  return searchQa({ entities: 40, maxHops: 2 });
}
