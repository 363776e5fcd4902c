import { withNote } from "./wasm-code.ts";
import { whileWide } from "./wide-flags.ts";

/** Runs every kernel of a module once and gives all that was written. */
export type TryOut = (module: WebAssembly.Module) => Uint8Array;

/** Compiles while the flags are set, and calls every kernel, which is when V8 optimizes it: one that is not called stays narrow. */
export function compileWide(
  all: readonly { bytes: Uint8Array<ArrayBuffer>; tryOut: TryOut }[],
  tieringBudget: number,
): WebAssembly.Module[] {
  return whileWide(tieringBudget, () =>
    all.map(({ bytes, tryOut }) => {
      const module = new WebAssembly.Module(bytes);
      tryOut(module);
      return module;
    }),
  );
}

/** The same kernels twice: with wide vectors, and as V8 makes them. */
export function compileTwice(
  bytes: Uint8Array<ArrayBuffer>,
  tieringBudget: number,
  tryOut: TryOut,
): { wide: WebAssembly.Module; plain: WebAssembly.Module } {
  const [wide] = compileWide([{ bytes, tryOut }], tieringBudget);
  // V8 would take the same bytes for the same module
  return { wide, plain: new WebAssembly.Module(withNote(bytes, "plain")) };
}

/** An experiment of V8 is used where it gives the same bits as the code without it, on this very machine. */
export function hasSameBits(tryOut: TryOut, wide: WebAssembly.Module, plain: WebAssembly.Module): boolean {
  return Buffer.compare(tryOut(wide), tryOut(plain)) === 0;
}
