import type { Box, Ended } from "../../src/tool/sandbox/sandbox.ts";
import type { Attack } from "./attack.ts";

/** A call after the attack, in the same box: it must run as if nothing had been before it. */
async function nextCall(box: Box, code: string): Promise<Ended> {
  return await box.exec("python3", { args: ["-c", code], limits: { timeoutMs: 5_000 } });
}

/** The attack worked where the next call does not end by itself and print what it should. */
const spoilsNext = (name: string, code: string, next = "print(6 * 7)", expected = "42\n"): Attack => ({
  name: `warm: ${name}`,
  code,
  after: async (box) => {
    const ended = await nextCall(box, next);
    return ended.kind !== "exited" || ended.stdout !== expected;
  },
});

/**
 * What a call can do to the interpreter that waits in its box, and through it to the next call. Its own answer is its own affair; the next call's is
 * not.
 */
export const attacksOnWarmBoxes: readonly Attack[] = [
  spoilsNext("kill everything", "os.kill(-1, 9)"),
  spoilsNext("kill process 1", "os.kill(1, 9); os.kill(1, 15); os.kill(1, 19)"),
  spoilsNext(
    "change what is imported",
    "import builtins; builtins.print = None; sys.modules.clear(); sys.path.clear()",
  ),
  spoilsNext(
    "use up descriptors and processes",
    "\nwhile True:\n    try: os.pipe()\n    except OSError: break\nos.fork()",
  ),
  spoilsNext(
    "stay as a process without parent",
    `
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            for number in os.listdir("/proc"):
                if number.isdigit() and int(number) not in (1, os.getpid()):
                    try: os.kill(int(number), 9)
                    except OSError: pass
    os._exit(0)`,
  ),
  spoilsNext("lower the limits of process 1", "resource.prlimit(1, resource.RLIMIT_NPROC, (0, 0))"),
  spoilsNext("leave variables", 'os.environ["LEFT"] = "1"', 'import os; print(os.environ.get("LEFT"))', "None\n"),
  {
    name: "warm: read the memory of process 1",
    code: `opens("/proc/1/mem", os.O_RDWR) and won()`,
  },
  {
    name: "warm: write to the channel of process 1",
    code: `
for fd in range(64):
    if opens("/proc/1/fd/%d" % fd, os.O_WRONLY): won()
for fd in range(3, 64):
    try: os.write(fd, bytes([3, 0, 0, 0, 1]) + b"0"); won()
    except OSError: pass`,
  },
  {
    name: "warm: speak as process 1",
    // a frame that says the call ended well, printed where answers are read
    code: `sys.stdout.buffer.write(bytes([3, 0, 0, 0, 1]) + b"0"); sys.stdout.flush(); os._exit(7)`,
    after: async (_box, _world, ended) => !(ended.kind === "exited" && ended.code === 7),
  },
  {
    name: "warm: outlive the time limit by stopping process 1",
    code: "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.kill(1, 19)\nwhile True: pass",
    limits: { timeoutMs: 500 },
    after: async (box, _world, ended) => ended.kind !== "timeout" || (await nextCall(box, "print(1)")).stdout !== "1\n",
  },
];
