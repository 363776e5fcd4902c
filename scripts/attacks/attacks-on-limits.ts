import { setTimeout as sleep } from "node:timers/promises";
import type { Box, Ended } from "../../src/tool/sandbox/sandbox.ts";
import type { Attack } from "./attack.ts";
import { processesWith, type World } from "./world.ts";

/** Of the box that is attacked; the programs below take more. */
export const attackedDiskMb = 32;
const harmful = "without a box it would end processes of this machine";

/** Processes that outlive their command are found by the secret in their command line, and ended. */
async function leavesProcesses(_box: Box, world: World): Promise<boolean> {
  const mark = `left-${world.token.slice(0, 8)}`;
  for (let tries = 0; tries < 20 && processesWith(mark).length > 0; tries++) await sleep(50);
  const left = processesWith(mark);
  for (const pid of left) process.kill(pid, "SIGKILL");
  return left.length > 0;
}

const stillWorks = async (box: Box) => (await box.exec("true")).kind !== "exited";
const isLongerThan =
  (bytes: number) =>
  async (_box: Box, _world: World, { stdout, stderr }: Ended) =>
    stdout.length + stderr.length > bytes;

/** Time, memory, processes, files and output. All of them stop by themselves, so that they can be tried without a box. */
export const attacksOnLimits: readonly Attack[] = [
  {
    name: "start hundreds of processes",
    limits: { processes: 64 },
    code: `
made = 0
for _ in range(300):
    try: pid = os.fork()
    except OSError: break
    if pid == 0: time.sleep(1); os._exit(0)
    made += 1
made == 300 and won()`,
  },
  {
    name: "start hundreds of threads",
    limits: { processes: 64 },
    code: `
import threading
made = 0
for _ in range(300):
    try: threading.Thread(target=time.sleep, args=(0.5,), daemon=True).start(); made += 1
    except RuntimeError: break
made == 300 and won()
sys.stdout.flush(); os._exit(0)`,
  },
  {
    name: "take memory in one process",
    limits: { memoryMb: 100 },
    code: `kept = bytearray(400 << 20); time.sleep(0.3); won()`,
  },
  {
    name: "take memory in many processes",
    limits: { memoryMb: 100 },
    code: `
children = [subprocess.Popen([sys.executable, "-c", "a = bytearray(60 << 20); import time; time.sleep(0.5)"]) for _ in range(5)]
all(child.wait() == 0 for child in children) and won()`,
  },
  {
    name: "take memory that is shared",
    limits: { memoryMb: 100 },
    code: `
import mmap
kept = mmap.mmap(-1, 400 << 20)
for at in range(0, 400 << 20, 4096): kept[at] = 1
time.sleep(0.2); won()`,
  },
  {
    name: "fill memory through /dev/shm",
    code: `
try:
    with open("/dev/shm/ludus-attack", "wb") as file: file.write(bytes(64 << 20))
    won()
finally: os.remove("/dev/shm/ludus-attack")`,
  },
  { name: "fill the disk", code: `open("big", "wb").write(bytes(64 << 20)); won()` },
  {
    name: "fill the disk for temporary files",
    code: `
path = E.get("TMPDIR", "/tmp") + "/ludus-attack"
try: open(path, "wb").write(bytes(64 << 20)); won()
finally: os.remove(path)`,
  },
  {
    name: "unpack a bomb",
    code: `
import gzip, io
bomb = gzip.compress(bytes(80 << 20))
with open("unpacked", "wb") as out:
    source = gzip.GzipFile(fileobj=io.BytesIO(bomb))
    while chunk := source.read(1 << 20): out.write(chunk)
won()`,
  },
  {
    name: "make too many files",
    code: `
for n in range(9000): open("f%d" % n, "w").close()
won()`,
  },
  {
    name: "fill /dev",
    code: `
try: open("/dev/ludus-attack", "wb").write(b"x"); won()
finally: os.remove("/dev/ludus-attack")`,
  },
  {
    name: "leave a process behind",
    after: leavesProcesses,
    code: `
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2): os.close(fd)
        os.execvp("sh", ["sh", "-c", "sleep 20; :", "left-" + E["MARK"]])
    os._exit(0)
time.sleep(0.2)`,
  },
  {
    name: "leave a process behind that ignores signals",
    after: leavesProcesses,
    limits: { timeoutMs: 600 },
    code: `
if os.fork() == 0:
    os.setsid()
    for fd in (0, 1, 2): os.close(fd)
    os.execvp("sh", ["sh", "-c", "trap '' TERM HUP INT; sleep 20; :", "left-" + E["MARK"]])
time.sleep(30)`,
  },
  {
    name: "outlive the time limit by stopping itself",
    limits: { timeoutMs: 500 },
    after: async (box, world, ended) => ended.kind !== "timeout" || (await leavesProcesses(box, world)),
    code: `os.kill(os.getpid(), signal.SIGSTOP)`,
    noControl: "a kill ends what is stopped at every level",
  },
  {
    name: "stop every process it sees",
    limits: { timeoutMs: 500 },
    after: async (box, world, ended) => ended.kind !== "timeout" || (await leavesProcesses(box, world)),
    code: `
for pid in (-1, 1, os.getppid(), os.getpid()):
    try: os.kill(pid, signal.SIGSTOP)
    except OSError: pass
time.sleep(20)`,
    noControl: harmful,
  },
  { name: "end a process of the machine", code: `os.kill(int(E["VICTIM"]), signal.SIGKILL); time.sleep(0.1)` },
  { name: "end every process it sees", code: `os.kill(-1, signal.SIGKILL)`, after: stillWorks, noControl: harmful },
  {
    name: "end its parents",
    code: `
for pid in (os.getppid(), 1):
    try: os.kill(pid, signal.SIGKILL)
    except OSError: pass`,
    after: stillWorks,
    noControl: harmful,
  },
  {
    name: "print without end",
    limits: { outputBytes: 50_000 },
    code: `
while True: sys.stdout.write("y" * 65536)`,
    after: isLongerThan(50_000),
    noControl: "output is cut off at every level",
  },
  {
    name: "print one endless line of errors",
    limits: { outputBytes: 50_000 },
    code: `
while True: sys.stderr.write("y" * 65536)`,
    after: isLongerThan(50_000),
    noControl: "output is cut off at every level",
  },
  {
    name: "write a file beyond its limit",
    limits: { fileMb: 1 },
    code: `
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with open("big", "wb") as file: file.write(bytes(8 << 20))
won()`,
  },
  {
    name: "use more processor time than it has",
    limits: { cpuSeconds: 1, timeoutMs: 8_000 },
    code: `
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while time.process_time() < 2.5: pass
won()`,
  },
];
