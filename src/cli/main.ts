#!/usr/bin/env node
import { builtinCommands } from "./commands/index.ts";
import { runCli } from "./run-cli.ts";

// a reader that has seen enough, such as head, is no failure
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
});

// the exit status is set, not forced: what is still being written to a pipe gets there
process.exitCode = await runCli(process.argv.slice(2), builtinCommands, process);
