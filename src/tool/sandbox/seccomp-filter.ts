/** Numbers of system calls by processor; undefined where that processor has no such call. */
interface Numbers {
  readonly x64?: number;
  readonly arm64?: number;
}

const both = (x64: number, arm64: number = x64): Numbers => ({ x64, arm64 });
const x64Only = (x64: number): Numbers => ({ x64 });

/** Refused with EPERM: what looks into other processes, makes namespaces, mounts, or reaches rarely used parts of the kernel. */
const refused: Readonly<Record<string, Numbers>> = {
  ptrace: both(101, 117),
  process_vm_readv: both(310, 270),
  process_vm_writev: both(311, 271),
  process_madvise: both(440),
  kcmp: both(312, 272),
  pidfd_getfd: both(438),
  unshare: both(272, 97),
  setns: both(308, 268),
  mount: both(165, 40),
  umount2: both(166, 39),
  pivot_root: both(155, 41),
  chroot: both(161, 51),
  open_tree: both(428),
  move_mount: both(429),
  fsopen: both(430),
  fsconfig: both(431),
  fsmount: both(432),
  fspick: both(433),
  mount_setattr: both(442),
  add_key: both(248, 217),
  request_key: both(249, 218),
  keyctl: both(250, 219),
  io_uring_setup: both(425),
  io_uring_enter: both(426),
  io_uring_register: both(427),
  bpf: both(321, 280),
  perf_event_open: both(298, 241),
  userfaultfd: both(323, 282),
  // memory that belongs to no process, and so is in nobody's resident size
  memfd_create: both(319, 279),
  memfd_secret: both(447),
  shmget: both(29, 194),
  shmat: both(30, 196),
  shmctl: both(31, 195),
  msgget: both(68, 186),
  vmsplice: both(278, 75),
  name_to_handle_at: both(303, 264),
  open_by_handle_at: both(304, 265),
  lookup_dcookie: both(212, 18),
  fanotify_init: both(300, 262),
  fanotify_mark: both(301, 263),
  kexec_load: both(246, 104),
  kexec_file_load: both(320, 294),
  create_module: x64Only(174),
  init_module: both(175, 105),
  finit_module: both(313, 273),
  delete_module: both(176, 106),
  reboot: both(169, 142),
  swapon: both(167, 224),
  swapoff: both(168, 225),
  acct: both(163, 89),
  quotactl: both(179, 60),
  quotactl_fd: both(443),
  syslog: both(103, 116),
  sethostname: both(170, 161),
  setdomainname: both(171, 162),
  settimeofday: both(164, 170),
  clock_settime: both(227, 112),
  clock_adjtime: both(305, 266),
  adjtimex: both(159, 171),
  iopl: x64Only(172),
  ioperm: x64Only(173),
  modify_ldt: x64Only(154),
  mbind: both(237, 235),
  set_mempolicy: both(238, 237),
  set_mempolicy_home_node: both(450),
  migrate_pages: both(256, 238),
  move_pages: both(279, 239),
  vhangup: both(153, 58),
  uselib: x64Only(134),
  ustat: x64Only(136),
  sysfs: x64Only(139),
  _sysctl: x64Only(156),
  personality: both(135, 92),
};

const clone = both(56, 220);
const clone3 = both(435);
const socket = both(41, 198);
const ioctl = both(16, 29);
const prlimit64 = both(302, 261);

/** Calls that came after the kernels this table was made for: nobody has judged them. */
const highestKnown = 456;
/** Numbers of the x32 programs begin here. */
const x32 = 0x40000000;
const architectures = { x64: 0xc000003e, arm64: 0xc00000b7 } as const;
export type SeccompArchitecture = keyof typeof architectures;

/** CLONE_NEW* of namespaces: cgroup, uts, ipc, user, pid, net, mount and time. */
const namespaceFlags = 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x00020000 | 0x80;
/** AF_UNIX, AF_INET, AF_INET6: the last two reach the loopback of the box alone. */
const socketFamilies = [1, 2, 10];
/** TIOCSTI puts text into a terminal's input, TIOCLINUX into its screen. */
const terminalRequests = [0x5412, 0x541c];

const errno = { EPERM: 1, ENOSYS: 38, EAFNOSUPPORT: 97 } as const;
const killProcess = 0x80000000;
const allow = 0x7fff0000;
const failWith = (code: number) => 0x00050000 | code;

// where the kernel puts what the filter reads: number, architecture, and the first and second argument's lower halves
const [numberAt, architectureAt, firstAt, secondAt] = [0, 4, 16, 24];

type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];
const load = (at: number): Instruction => [0x20, 0, 0, at];
const answer = (action: number): Instruction => [0x06, 0, 0, action];
const and = (mask: number): Instruction => [0x54, 0, 0, mask];
const ifEqual = (value: number, ifTrue: number, ifFalse: number): Instruction => [0x15, ifTrue, ifFalse, value];
const ifGreater = (value: number, ifTrue: number, ifFalse: number): Instruction => [0x25, ifTrue, ifFalse, value];

/**
 * The program for `bwrap --seccomp`, in the bytes that the kernel reads. A call that is refused fails as it would for lack of rights,
 * so that interpreters go on; one of another processor's interface ends the process.
 */
export function seccompFilter(architecture: SeccompArchitecture): Uint8Array {
  const numberOf = (numbers: Numbers) => numbers[architecture];
  /** Runs `check` where the call is this one; the check always answers. */
  const forCall = (numbers: Numbers, check: readonly Instruction[]): Instruction[] => {
    const number = numberOf(numbers);
    return number === undefined ? [] : [ifEqual(number, 0, check.length), ...check];
  };
  const anyOf = (values: readonly number[], then: number, otherwise: number): Instruction[] => [
    ...values.map((value, index) => ifEqual(value, values.length - index, 0)),
    answer(otherwise),
    answer(then),
  ];
  return toBytes([
    load(architectureAt),
    ifEqual(architectures[architecture], 1, 0),
    answer(killProcess),
    load(numberAt),
    ...(architecture === "x64" ? [ifGreater(x32 - 1, 0, 1), answer(killProcess)] : []),
    ifGreater(highestKnown, 0, 1),
    answer(failWith(errno.ENOSYS)),
    ...Object.values(refused).flatMap((numbers) => forCall(numbers, [answer(failWith(errno.EPERM))])),
    // its flags lie in memory, where a filter cannot look; the C library falls back to `clone`
    ...forCall(clone3, [answer(failWith(errno.ENOSYS))]),
    ...forCall(clone, [
      load(firstAt),
      and(namespaceFlags),
      ifEqual(0, 1, 0),
      answer(failWith(errno.EPERM)),
      answer(allow),
    ]),
    ...forCall(socket, [load(firstAt), ...anyOf(socketFamilies, allow, failWith(errno.EAFNOSUPPORT))]),
    // limits of other processes: those of a waiting interpreter are the limits of the next call
    ...forCall(prlimit64, [load(firstAt), ...anyOf([0], allow, failWith(errno.EPERM))]),
    ...forCall(ioctl, [load(secondAt), ...anyOf(terminalRequests, failWith(errno.EPERM), allow)]),
    answer(allow),
  ]);
}

/** The architecture of this program, or undefined where no filter is known for it. */
export function seccompArchitecture(name: string = process.arch): SeccompArchitecture | undefined {
  return name === "x64" || name === "arm64" ? name : undefined;
}

function toBytes(instructions: readonly Instruction[]): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(instructions.length * 8));
  for (const [index, [code, ifTrue, ifFalse, value]] of instructions.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, ifTrue);
    bytes.setUint8(index * 8 + 3, ifFalse);
    bytes.setUint32(index * 8 + 4, value, true);
  }
  return new Uint8Array(bytes.buffer);
}
