import type { ModelConfig } from "../../model/model-config.ts";
import { attentionKernel } from "./attention-kernel.ts";
import { type KernelShape, kernelShape } from "./kernel-shape.ts";
import { modelProducts } from "./model-products.ts";
import { productKernel, productName } from "./product-kernel.ts";
import { gateKernel, normKernel, ropeKernel, softmaxKernel } from "./row-kernels.ts";
import { tryKernels } from "./try-kernels.ts";
import { assemble, Constants, withNote } from "./wasm-code.ts";
import { whileWide } from "./wide-flags.ts";
import { type WideVerdict, wideVerdict } from "./wide-verdict.ts";

/** The kernels of a model, ready for any thread. */
export interface CompiledKernels {
  module: WebAssembly.Module;
  /** Columns of weights that lie together. */
  panelWidth: number;
}

/** With vectors of four numbers the sums of eight columns fit into registers. */
const plainPanelWidth = 8;

const known = new Map<string, CompiledKernels>();

/** The kernels of a model; made once for each. */
export function compileKernels(config: ModelConfig): CompiledKernels {
  const key = JSON.stringify(config);
  const compiled = known.get(key) ?? makeKernels(kernelShape(config), wideVerdict());
  known.set(key, compiled);
  return compiled;
}

function makeKernels(shape: KernelShape, verdict: WideVerdict | undefined): CompiledKernels {
  if (verdict === undefined) {
    return { module: new WebAssembly.Module(kernelBytes(shape, plainPanelWidth)), panelWidth: plainPanelWidth };
  }
  const { panelWidth } = verdict;
  const { wide, plain } = compileBoth(shape, verdict);
  return { module: isSame(shape, panelWidth, wide, plain) ? wide : plain, panelWidth };
}

/** The same kernels twice: with wide vectors, and as V8 makes them. */
export function compileBoth(
  shape: KernelShape,
  { panelWidth, tieringBudget }: WideVerdict,
): { wide: WebAssembly.Module; plain: WebAssembly.Module } {
  const bytes = kernelBytes(shape, panelWidth);
  const [wide] = compileWide([{ shape, bytes, panelWidth }], tieringBudget);
  // V8 would take the same bytes for the same module
  return { wide, plain: new WebAssembly.Module(withNote(bytes, "plain")) };
}

/** Compiles while the flags are set, and calls every kernel once, which is when V8 optimizes it: one that is not called stays narrow. */
export function compileWide(
  all: readonly { shape: KernelShape; bytes: Uint8Array<ArrayBuffer>; panelWidth: number }[],
  tieringBudget: number,
): WebAssembly.Module[] {
  return whileWide(tieringBudget, () =>
    all.map(({ shape, bytes, panelWidth }) => {
      const module = new WebAssembly.Module(bytes);
      tryKernels(shape, module, panelWidth);
      return module;
    }),
  );
}

/** An experiment of V8 is used where it gives the same bits as the code without it, on this very machine. */
export function isSame(
  shape: KernelShape,
  panelWidth: number,
  ...modules: readonly [WebAssembly.Module, WebAssembly.Module]
): boolean {
  const [a, b] = modules.map((module) => tryKernels(shape, module, panelWidth)) as [Uint8Array, Uint8Array];
  return Buffer.compare(a, b) === 0;
}

/** The kernels of a shape, to be compiled. */
export function kernelBytes(shape: KernelShape, panelWidth: number): Uint8Array<ArrayBuffer> {
  const constants = new Constants();
  const products = new Map(modelProducts(shape).map((product) => [productName(product.shape), product.shape]));
  const kernels = [
    ...[...products.values()].map((product) => productKernel(product, panelWidth)),
    normKernel(shape),
    ropeKernel(shape),
    gateKernel(shape, constants),
    softmaxKernel(shape, constants),
    attentionKernel(shape, constants),
  ];
  return assemble(kernels, constants);
}
