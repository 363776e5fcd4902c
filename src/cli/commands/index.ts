import type { Command } from "../command.ts";
import { version } from "./version.ts";

/** In the order `ludus --help` lists them. */
export const builtinCommands: readonly Command[] = [version];
