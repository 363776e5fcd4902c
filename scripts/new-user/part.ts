import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Step, User } from "./user.ts";

/** A chapter of a new user's first hours. */
export interface Part {
  /** For `--only`. */
  readonly name: string;
  readonly title: string;
  readonly needs?: readonly Need[];
  run(user: User): Promise<void>;
}

/** What a part finds in the user's folder; made unseen where the parts before were left out. */
export interface Need {
  /** From the user's folder. */
  readonly path: string;
  readonly needs?: readonly Need[];
  steps(home: string): readonly Step[];
}

/** Makes what is not there. */
export async function provide(user: User, needs: readonly Need[] = []): Promise<void> {
  for (const need of needs) {
    if (existsSync(join(user.home, need.path))) continue;
    await provide(user, need.needs);
    await user.does(need.steps(user.home));
  }
}
