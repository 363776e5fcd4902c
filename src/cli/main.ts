#!/usr/bin/env node
import { builtinCommands } from "./commands/index.ts";
import { explainError } from "./explain-error.ts";
import { runCli } from "./run-cli.ts";

// a reader that has seen enough, such as head, is no failure; a full disk is
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`${explainError(error, false)}\n`);
  process.exit(1);
});
// nobody reads what is said of the work: it goes on
process.stderr.on("error", () => {});

// the exit status is set, not forced: what is still being written to a pipe gets there
process.exitCode = await runCli(process.argv.slice(2), builtinCommands, process);
