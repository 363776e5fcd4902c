import { LudusError } from "../../../errors.ts";
import { constantsEnd } from "./wasm-code.ts";

const wasmPage = 65_536;
/** What a 32-bit address can reach, less a margin. */
export const addressableBytes = 2 ** 32 - 2 ** 26;
const alignment = 64;

/** The memory of a thread's kernels: addresses are allocated once and never freed, and it grows on demand. */
export class KernelMemory {
  readonly memory: WebAssembly.Memory;
  #end = constantsEnd;

  /** `shared`: other threads compute in it too; only this one allocates. */
  constructor({ shared = false }: { shared?: boolean } = {}) {
    this.memory = new WebAssembly.Memory(shared ? { initial: 1, maximum: 65_536, shared } : { initial: 1 });
  }

  /** The address of new zeros; undefined when there is no room. */
  take(bytes: number): number | undefined {
    const start = this.#end;
    const end = start + Math.ceil(bytes / alignment) * alignment;
    const missing = end - this.memory.buffer.byteLength;
    // by a half more each time, so that growing is rare
    if (missing > 0 && !this.#grow(Math.max(missing, this.memory.buffer.byteLength / 2)) && !this.#grow(missing))
      return undefined;
    this.#end = end;
    return start;
  }

  /** As `take`, for what there must be. */
  demand(bytes: number, what: string): number {
    const address = this.take(bytes);
    if (address !== undefined) return address;
    const [size, used] = [bytes, this.memory.buffer.byteLength].map((count) => (count / 2 ** 20).toFixed(1));
    throw new LudusError("out-of-memory", {
      got: `${size} MiB for ${what}, beside ${used} MiB`,
      expected: "at most 4 GiB for what one thread samples with",
      hint: "Lower `maxRows` or `maxCacheBytes`, or release snapshots that are not sampled any more.",
    });
  }

  #grow(bytes: number): boolean {
    if (this.memory.buffer.byteLength + bytes > addressableBytes) return false;
    try {
      this.memory.grow(Math.ceil(bytes / wasmPage));
      return true;
    } catch {
      return false;
    }
  }

  floats(address: number, length: number): Float32Array {
    return new Float32Array(this.memory.buffer, address, length);
  }

  integers(address: number, length: number): Uint32Array {
    return new Uint32Array(this.memory.buffer, address, length);
  }
}
