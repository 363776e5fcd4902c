import type { Attack } from "./attack.ts";

/** A system call that must be refused before the kernel looks at its arguments. */
const refusedCall = (name: string, x64: number, arm64: number, args = ""): Attack => ({
  name: `call ${name}`,
  code: `reached(${x64}, ${arm64}${args === "" ? "" : `, ${args}`}) and won()`,
});

/** The path must not open for writing; nothing is written. */
const openForWriting = (path: string): Attack => ({
  name: `open ${path} for writing`,
  code: `opens("${path}", os.O_WRONLY) and won()`,
});

const socketOf = (name: string, family: number, kind: number): Attack => ({
  name: `make a socket of family ${name}`,
  code: `reached(41, 198, ${family}, ${kind}, 0) and won()`,
});

/** Rights, namespaces, system calls and the kernel's own files. Arguments are chosen so that nothing happens where a call is let through. */
export const attacksOnKernel: readonly Attack[] = [
  refusedCall("unshare for a user namespace", 272, 97, "0x10000000"),
  refusedCall("unshare for a network namespace", 272, 97, "0x40000000"),
  refusedCall("setns", 308, 268, "os.open('/proc/self/ns/uts', os.O_RDONLY), 0"),
  {
    name: "clone into a user namespace",
    code: `
result, _ = call(56, 220, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
if result == 0: os._exit(0)
if result > 0: won()`,
  },
  { name: "call clone3", code: `call(435, 435, 0, 0)[1] != errno.ENOSYS and won()` },
  refusedCall("mount", 165, 40, "0, 0, 0, 0, 0"),
  refusedCall("umount2", 166, 39, "0, 0"),
  refusedCall("pivot_root", 155, 41, "0, 0"),
  refusedCall("chroot", 161, 51, "0"),
  refusedCall("fsopen", 430, 430, "0, 0"),
  refusedCall("open_tree", 428, 428, "-1, 0, 0"),
  refusedCall("name_to_handle_at", 303, 264, "-100, 0, 0, 0, 0"),
  refusedCall("open_by_handle_at", 304, 265, "-100, 0, 0"),
  refusedCall("ptrace", 101, 117, "0, 0, 0, 0"),
  refusedCall("process_vm_readv", 310, 270, "os.getpid(), 0, 0, 0, 0, 0"),
  refusedCall("process_vm_writev", 311, 271, "os.getpid(), 0, 0, 0, 0, 0"),
  refusedCall("kcmp", 312, 272, "os.getpid(), os.getpid(), 2, 0, 0"),
  refusedCall("pidfd_getfd", 438, 438, "-1, 0, 0"),
  refusedCall("keyctl", 250, 219, "0, -3, 0, 0, 0"),
  refusedCall("add_key", 248, 217, "0, 0, 0, 0, 0"),
  refusedCall("io_uring_setup", 425, 425, "1, 0"),
  refusedCall("bpf", 321, 280, "0, 0, 0"),
  refusedCall("perf_event_open", 298, 241, "0, 0, -1, -1, 0"),
  refusedCall("userfaultfd", 323, 282, "1"),
  refusedCall("memfd_create", 319, 279, "ctypes.c_char_p(b'x'), 0"),
  refusedCall("shmget", 29, 194, "0, 4096, 0o600"),
  refusedCall("msgget", 68, 186, "0, 0"),
  refusedCall("init_module", 175, 105, "0, 0, 0"),
  refusedCall("kexec_load", 246, 104, "0, 99, 0, 0"),
  refusedCall("reboot with a wrong magic number", 169, 142, "0, 0, 0, 0"),
  refusedCall("swapon", 167, 224, "0, 0"),
  refusedCall("syslog", 103, 116, "10, 0, 0"),
  refusedCall("personality", 135, 92, "0xffffffff"),
  refusedCall("adjtimex", 159, 171, "ctypes.create_string_buffer(512)"),
  { name: "set the clock to what it shows", code: `reached(227, 112, 0, 0) and won()` },
  { name: "name the machine as it is named", code: `os.sethostname(os.uname().nodename); won()` },
  refusedCall("fanotify_init", 300, 262, "0, 0"),
  socketOf("vsock", 40, 1),
  socketOf("netlink", 16, 3),
  socketOf("packet", 17, 3),
  socketOf("alg", 38, 5),
  openForWriting("/proc/sys/kernel/core_pattern"),
  openForWriting("/proc/sys/vm/drop_caches"),
  openForWriting("/proc/sysrq-trigger"),
  {
    name: "open a release agent of a control group",
    code: `
for root, _, files in os.walk("/sys/fs/cgroup"):
    if "release_agent" in files and opens(root + "/release_agent", os.O_WRONLY): won()
    if root.count("/") > 5: break`,
  },
  { name: "look into /sys", code: `os.path.isdir("/sys") and os.listdir("/sys") and won()` },
  { name: "open memory of the kernel", code: `opens("/proc/kcore", os.O_RDONLY) and won()` },
  {
    name: "read addresses of the kernel",
    code: `
any(line.split()[0].strip("0") for line in open("/proc/kallsyms").readlines()[:100]) and won()`,
  },
  {
    name: "open a disk",
    code: `
names = [n for n in os.listdir("/dev") if n.startswith(("sd", "vd", "nvme", "xvd", "mem", "kmsg", "kvm", "loop"))]
any(opens("/dev/" + n, os.O_RDONLY) for n in names) and won()`,
  },
  {
    name: "make a device",
    code: `
os.mknod("disk", 0o60600, os.makedev(254, 0)); opens("disk", os.O_RDONLY) and won()`,
  },
  {
    name: "hold capabilities",
    code: `
[line for line in open("/proc/self/status") if line.startswith("CapEff") and int(line.split()[1], 16)] and won()`,
  },
  {
    name: "gain rights by a program that has them",
    code: `
"NoNewPrivs:\\t0" in open("/proc/self/status").read() and won()`,
  },
  { name: "own files of root", code: `os.stat("/usr").st_uid == os.getuid() and won()` },
  {
    name: "raise a limit",
    code: `
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE); resource.setrlimit(resource.RLIMIT_NOFILE, (hard + 1, hard + 1)); won()`,
  },
  { name: "run before others", code: `os.nice(-1); won()` },
  {
    name: "be the last to be killed for memory",
    code: `
lower = int(E["OOM"]) - 1
open("/proc/self/oom_score_adj", "w").write(str(max(lower, -1000))); lower >= -1000 and won()`,
  },
  {
    name: "call through the interface of 32 bits",
    code: `
import mmap
if X64:
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3")
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ctypes.CFUNCTYPE(ctypes.c_int)(at)() > 0 and won()`,
  },
  {
    name: "type into a terminal",
    code: `
master, slave = os.openpty()
os.setsid(); libc.ioctl(slave, 0x540E, 0)
libc.ioctl(slave, 0x5412, ctypes.c_char_p(b"x")) == 0 and won()`,
  },
  {
    name: "open memory of a process of the machine",
    code: `opens("/proc/%s/mem" % E["VICTIM"], os.O_RDONLY) and won()`,
  },
];
