import { describe, expect, test } from "vitest";
import { type SeccompArchitecture, seccompFilter } from "./seccomp-filter.ts";

const [allow, kill] = [0x7fff0000, 0x80000000];
const failWith = (code: number) => 0x00050000 | code;
const [Eperm, Enosys, Eafnosupport] = [1, 38, 97];
const codes = { x64: 0xc000003e, arm64: 0xc00000b7 };

/** Runs the filter as the kernel would. */
function judge(
  architecture: SeccompArchitecture,
  call: number,
  args: readonly number[] = [],
  arch = codes[architecture],
) {
  const bytes = seccompFilter(architecture);
  const program = new DataView(bytes.buffer);
  const data = new DataView(new ArrayBuffer(64));
  data.setUint32(0, call, true);
  data.setUint32(4, arch, true);
  for (const [index, value] of args.entries()) data.setUint32(16 + index * 8, value, true);
  let value = 0;
  for (let at = 0; at * 8 < bytes.byteLength; at++) {
    const [code, constant] = [program.getUint16(at * 8, true), program.getUint32(at * 8 + 4, true)];
    const jump = (isTrue: boolean) => program.getUint8(at * 8 + (isTrue ? 2 : 3));
    if (code === 0x06) return constant;
    if (code === 0x20) value = data.getUint32(constant, true);
    else if (code === 0x54) value &= constant;
    else if (code === 0x15) at += jump(value === constant);
    else if (code === 0x25) at += jump(value > constant);
    else throw new Error(`unknown instruction ${code}`);
  }
  throw new Error("the program ends without an answer");
}

describe("the filter of system calls", () => {
  test.each([
    ["read", 0, 63],
    ["execve", 59, 221],
    ["openat", 257, 56],
    ["futex", 202, 98],
  ])("lets %s through", (_, x64, arm64) => {
    expect(judge("x64", x64)).toBe(allow);
    expect(judge("arm64", arm64)).toBe(allow);
  });

  test.each([
    ["ptrace", 101, 117],
    ["unshare", 272, 97],
    ["mount", 165, 40],
    ["io_uring_setup", 425, 425],
    ["memfd_create", 319, 279],
    ["keyctl", 250, 219],
    ["personality", 135, 92],
  ])("refuses %s", (_, x64, arm64) => {
    expect(judge("x64", x64)).toBe(failWith(Eperm));
    expect(judge("arm64", arm64)).toBe(failWith(Eperm));
  });

  test("refuses namespaces, families of sockets and terminal requests by their arguments", () => {
    expect(judge("x64", 56, [0x01200011])).toBe(allow); // fork
    for (const flag of [0x10000000, 0x20000000, 0x40000000, 0x00020000]) {
      expect(judge("x64", 56, [flag | 17])).toBe(failWith(Eperm));
      expect(judge("arm64", 220, [flag | 17])).toBe(failWith(Eperm));
    }
    expect(judge("x64", 435)).toBe(failWith(Enosys)); // clone3
    for (const family of [1, 2, 10]) expect(judge("x64", 41, [family])).toBe(allow);
    for (const family of [0, 16, 17, 38, 40]) expect(judge("x64", 41, [family])).toBe(failWith(Eafnosupport));
    expect(judge("x64", 16, [0, 0x5401])).toBe(allow);
    for (const request of [0x5412, 0x541c]) expect(judge("x64", 16, [0, request])).toBe(failWith(Eperm));
    expect(judge("x64", 302, [0])).toBe(allow); // prlimit64, of the process itself and of another
    expect(judge("x64", 302, [1])).toBe(failWith(Eperm));
    expect(judge("arm64", 261, [1])).toBe(failWith(Eperm));
  });

  test("does not know calls of later kernels, and ends programs of other interfaces", () => {
    expect(judge("x64", 457)).toBe(failWith(Enosys));
    expect(judge("x64", 0x40000000 + 101)).toBe(kill);
    expect(judge("x64", 101, [], 0x40000003)).toBe(kill); // 32 bits
  });
});
