import { LudusError } from "../../../errors.ts";
import { addressableBytes } from "../kernels/kernel-memory.ts";
import { constantsEnd } from "../kernels/wasm-code.ts";

const wasmPage = 65_536;
const alignment = 64;

/** Memory of a thread's training kernels: taken from the bottom up, and given back by going back to a mark. */
export class TrainingMemory {
  readonly memory = new WebAssembly.Memory({ initial: 1 });
  #end = constantsEnd;

  /** The address of room for so many floats. What is there before may be anything. */
  take(floats: number): number {
    const start = this.#end;
    this.#end = start + Math.ceil((floats * Float32Array.BYTES_PER_ELEMENT) / alignment) * alignment;
    // kernels read whole vectors, which may end behind the last row
    const missing = this.#end + wasmPage - this.memory.buffer.byteLength;
    if (missing > 0) this.#grow(missing);
    return start;
  }

  mark(): number {
    return this.#end;
  }

  release(mark: number): void {
    this.#end = mark;
  }

  /** A view that is valid until memory is taken. */
  floats(address: number, length: number): Float32Array<ArrayBuffer> {
    return new Float32Array(this.memory.buffer, address, length);
  }

  #grow(missing: number): void {
    const { byteLength } = this.memory.buffer;
    const wanted = Math.max(missing, Math.min(byteLength / 4, addressableBytes - byteLength));
    for (const bytes of [wanted, missing]) {
      if (byteLength + bytes > addressableBytes) continue;
      try {
        this.memory.grow(Math.ceil(bytes / wasmPage));
        return;
      } catch {
        // less may do
      }
    }
    throw new LudusError("out-of-memory", {
      got: `${(this.#end / 2 ** 20).toFixed(0)} MiB for the backward pass of one thread`,
      expected: "memory that the system can give, at most 4 GiB",
      hint: 'Lower `microBatchTokens`, or train with recompute: "layers".',
    });
  }
}
