#!/usr/bin/env node
import { builtinCommands } from "./commands/index.ts";
import { runCli } from "./run-cli.ts";

// the exit status is set, not forced: what is still being written to a pipe gets there
process.exitCode = await runCli(process.argv.slice(2), builtinCommands, process);
