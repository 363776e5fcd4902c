import type { Command } from "../command.ts";
import { dashboard } from "./dashboard.ts";
import { doctor } from "./doctor.ts";
import { env } from "./env.ts";
import { play } from "./play.ts";
import { version } from "./version.ts";

/** In the order `ludus --help` lists them. */
export const builtinCommands: readonly Command[] = [play, env, doctor, dashboard, version];
