import { type ChildProcess, spawn } from "node:child_process";

// A process that spins cannot notice that its parent was killed, and its wall limit died with the parent. One small shell
// per program outlives it: its input ends when the program ends, however that happens, and then it kills what is left.
const guardScript = `groups=" "
while read -r change group; do
  case $change in
    add) groups="$groups$group " ;;
    remove) groups="\${groups%% $group *} \${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done`;

const guarded = new Set<number>();
let guard: ChildProcess | undefined;

/** Has the process group killed when this program ends without having done so. Returns what to call once it is gone. */
export function guardGroup(group: number): () => void {
  if (process.platform === "win32") return () => {};
  guarded.add(group);
  if (guard === undefined) for (const known of guarded) tell("add", known);
  else tell("add", group);
  return () => {
    if (guarded.delete(group) && guard !== undefined) tell("remove", group);
  };
}

function tell(change: "add" | "remove", group: number): void {
  guard ??= startGuard();
  guard.stdin?.write(`${change} ${group}\n`);
}

function startGuard(): ChildProcess {
  // a session of its own: Ctrl-C in the terminal must not end it before its work is done
  const started = spawn("/bin/sh", ["-c", guardScript], {
    detached: true,
    env: {},
    cwd: "/",
    stdio: ["pipe", "ignore", "ignore"],
  });
  const forget = () => {
    if (guard === started) guard = undefined;
  };
  started.on("error", forget).on("exit", forget).unref();
  started.stdin.on("error", forget);
  if ("unref" in started.stdin && typeof started.stdin.unref === "function") started.stdin.unref();
  return started;
}
