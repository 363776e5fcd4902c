import type { CommandLimits } from "../../src/tool/sandbox/limits.ts";
import type { Box, Ended } from "../../src/tool/sandbox/sandbox.ts";
import type { World } from "./world.ts";

/** A program that tries to leave its box, take what it was not given, or outlive its limits. */
export interface Attack {
  readonly name: string;
  /** Python, after `prelude`. It prints PWNED where it got what it must not have; secrets that it prints are found by themselves. */
  readonly code: string;
  readonly limits?: Partial<CommandLimits>;
  /** Done by this program meanwhile, or after: what a box's own functions can be led to. */
  readonly meanwhile?: (box: Box, world: World) => Promise<void>;
  readonly after?: (box: Box, world: World, ended: Ended) => Promise<boolean>;
  /** Why it is not tried against the weaker level, to show that the check can fail. */
  readonly noControl?: string;
}

/** What attacks share. System calls are tried by number, as libraries would not. */
export const prelude = `
import ctypes, errno, os, platform, resource, signal, socket, struct, subprocess, sys, time
E = os.environ
libc = ctypes.CDLL(None, use_errno=True)
X64 = platform.machine() == "x86_64"
def won(): print("PW" + "NED", flush=True)
def call(x64, arm64, *args):
    """What a system call gives, and its error."""
    ctypes.set_errno(0)
    number = x64 if X64 else arm64
    return libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args]), ctypes.get_errno()
def reached(x64, arm64, *args):
    """The kernel looked at the arguments: the call was not refused."""
    result, error = call(x64, arm64, *args)
    return result >= 0 or error not in (errno.EPERM, errno.ENOSYS, errno.EACCES, errno.EAFNOSUPPORT)
def tries(*paths):
    for path in paths:
        try:
            with open(path, "rb") as file: sys.stdout.buffer.write(file.read(100000))
        except OSError: pass
    sys.stdout.flush()
def opens(path, flags):
    try: os.close(os.open(path, flags)); return True
    except OSError: return False
`;
