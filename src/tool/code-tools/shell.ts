/**
 * A shell that seems to go on: each call is a shell of its own, because no process outlives a command of a box. It begins with
 * the folder, variables and functions that the last one left.
 */
const persistentShell = `
__kept="$TMPDIR/.shell-state"
if [ -f "$__kept" ]; then . "$__kept" 2>/dev/null; fi
__kept="$TMPDIR/.shell-state"
trap '{
  declare -p | grep -Ev "^declare -[a-zA-Z]*r|^declare [-a-zA-Z]+ (BASH|SHLVL|PPID|UID|EUID|FUNCNAME|DIRSTACK|GROUPS|PIPESTATUS|_=|__kept)"
  declare -f
  printf "cd -- %q\\n" "$PWD"
} > "$__kept.new" 2>/dev/null && mv -f "$__kept.new" "$__kept"' EXIT
eval "$1"
`;

/** Arguments for `bash`. */
export function shellArgs(command: string): string[] {
  return ["--noprofile", "--norc", "-c", persistentShell, "bash", command];
}
