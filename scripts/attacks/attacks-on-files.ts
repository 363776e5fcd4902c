import { readFileSync } from "node:fs";
import { join } from "node:path";
import { LudusError } from "../../src/errors.ts";
import type { Attack } from "./attack.ts";

const onBoxFunctions = "the functions of every box refuse it";

/** Files, secrets, descriptors and sockets of this machine. */
export const attacksOnFiles: readonly Attack[] = [
  { name: "read a file of the machine", code: `tries(E["CANARY"])` },
  { name: "read it by many parents", code: `tries("../" * 30 + E["CANARY"])` },
  { name: "read it through /proc/1/root", code: `tries("/proc/1/root" + E["CANARY"])` },
  {
    name: "read it through the root of every process",
    code: `tries(*["/proc/%s/root%s" % (p, E["CANARY"]) for p in os.listdir("/proc") if p.isdigit()])`,
  },
  { name: "read it through /proc/self/cwd", code: `tries("/proc/self/cwd" + "/.." * 20 + E["CANARY"])` },
  {
    name: "link a file of the machine into the box",
    code: `
try: os.link(E["CANARY"], "linked"); tries("linked")
except OSError: pass`,
  },
  {
    name: "read environments of all processes",
    code: `tries(*["/proc/%s/environ" % p for p in os.listdir("/proc") if p.isdigit()])`,
  },
  {
    name: "read command lines of all processes",
    code: `tries(*["/proc/%s/cmdline" % p for p in os.listdir("/proc") if p.isdigit()])`,
  },
  {
    name: "read inherited descriptors",
    code: `
for fd in range(3, 512):
    try: sys.stdout.buffer.write(os.pread(fd, 1000, 0))
    except OSError: pass`,
  },
  {
    name: "reopen descriptors of all processes",
    code: `
for p in os.listdir("/proc"):
    if not p.isdigit(): continue
    try: fds = os.listdir("/proc/%s/fd" % p)
    except OSError: continue
    for fd in fds:
        path = "/proc/%s/fd/%s" % (p, fd)
        try:
            if os.path.isfile(path): tries(path)
        except OSError: pass`,
  },
  { name: "read /etc/shadow", code: `opens("/etc/shadow", os.O_RDONLY) and won()` },
  {
    name: "list homes",
    code: `
for home in ("/root", "/home"):
    try: os.listdir(home); won()
    except OSError: pass`,
  },
  {
    name: "read logs and settings of the machine",
    code: `any(os.path.exists(p) for p in ("/var/log", "/etc/apt", "/etc/ssl", "/etc/hostname")) and won()`,
  },
  { name: "write outside the box", code: `open(E["WRITABLE"] + "/x", "w").write("x")` },
  { name: "change the canary", code: `open(E["CANARY"], "w").write("changed")` },
  {
    name: "write to /usr",
    code: `
path = "/usr/ludus-attack"
open(path, "w").close(); won(); os.remove(path)`,
  },
  {
    name: "make the root writable",
    code: `
path = "/ludus-attack"
open(path, "w").close(); won(); os.remove(path)`,
  },
  {
    name: "connect to the machine's loopback",
    code: `
s = socket.create_connection(("127.0.0.1", int(E["PORT"])), 1); print(s.recv(100))`,
  },
  {
    name: "connect to an abstract socket",
    code: `
s = socket.socket(socket.AF_UNIX); s.connect("\\0" + E["ABSTRACT"]); print(s.recv(100))`,
  },
  {
    name: "connect to a socket in a folder",
    code: `
s = socket.socket(socket.AF_UNIX); s.connect(E["SOCKET"]); print(s.recv(100))`,
  },
  {
    name: "find another network device",
    code: `
names = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
[n for n in names if n != "lo" and not n.startswith(("sit", "tunl", "ip", "gre", "erspan"))] and won()`,
  },
  {
    name: "lead a read out by a link",
    code: `os.symlink(E["CANARY"], "link")`,
    after: async (box, world) => reads(box.read("link"), world.token),
    noControl: onBoxFunctions,
  },
  {
    name: "lead a write out by a link",
    code: `os.symlink(E["WRITABLE"] + "/x", "link")`,
    after: async (box) => refusedOrNot(box.write("link", "x")),
    noControl: onBoxFunctions,
  },
  {
    name: "swap a folder for a link while it is read",
    code: `
os.makedirs("real"); open("real/canary.txt", "w").write("mine"); os.symlink(os.path.dirname(E["CANARY"]), "away")
os.makedirs("d"); os.rename("d", "old"); end = time.monotonic() + 1
while time.monotonic() < end:
    os.rename("real", "d"); os.rename("d", "real"); os.rename("away", "d"); os.rename("d", "away")`,
    meanwhile: async (box, world) => {
      for (let tries = 0; tries < 1_500; tries++)
        if (await reads(box.read("d/canary.txt"), world.token)) throw new Error(world.token);
    },
    noControl: onBoxFunctions,
  },
  {
    name: "swap a folder for a link while it is written",
    code: `
os.makedirs("real"); os.symlink(E["WRITABLE"], "away"); end = time.monotonic() + 1
while time.monotonic() < end:
    os.rename("real", "d"); os.rename("d", "real"); os.rename("away", "d"); os.rename("d", "away")`,
    meanwhile: async (box) => {
      for (let tries = 0; tries < 1_500; tries++) await refusedOrNot(box.write("d/x", "x"));
    },
    noControl: onBoxFunctions,
  },
  {
    name: "carry a link out in an image",
    code: `os.symlink("/etc", "etc"); os.symlink(E["CANARY"], "canary")`,
    after: async (box, world) => {
      const image = await box.snapshot();
      try {
        return JSON.stringify(await reads(box.read("canary"), world.token)) === "true";
      } finally {
        await image.remove();
      }
    },
    noControl: onBoxFunctions,
  },
  {
    name: "hang a read on a pipe",
    code: `os.mkfifo("pipe")`,
    after: async (box) => isLate(refusedOrNot(box.read("pipe"))),
    noControl: onBoxFunctions,
  },
  {
    name: "fill this program's memory with a sparse file",
    code: `os.truncate(os.open("big", os.O_CREAT | os.O_RDWR), 1 << 40)`,
    after: async (box) => refusedOrNot(box.read("big")),
    noControl: onBoxFunctions,
  },
];

/** Whether a path of the box gave the secret. A refusal is what it must give. */
async function reads(reading: Promise<Uint8Array>, token: string): Promise<boolean> {
  try {
    return Buffer.from(await reading).includes(token);
  } catch (error) {
    if (error instanceof LudusError) return false;
    throw error;
  }
}

/** Whether it was done rather than refused. */
async function refusedOrNot(doing: Promise<unknown>): Promise<boolean> {
  try {
    await doing;
    return true;
  } catch (error) {
    if (error instanceof LudusError) return false;
    throw error;
  }
}

async function isLate(doing: Promise<boolean>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(true), 2_000);
  });
  const result = await Promise.race([doing, late]);
  clearTimeout(timer);
  return result;
}

/** For tests of the checks: what lies in the world's canary. */
export const canaryOf = (folder: string) => readFileSync(join(folder, "canary.txt"), "utf8");
