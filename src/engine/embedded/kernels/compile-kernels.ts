import type { ModelConfig } from "../../model/model-config.ts";
import { attentionKernel } from "./attention-kernel.ts";
import { type KernelShape, kernelShape } from "./kernel-shape.ts";
import { modelProducts } from "./model-products.ts";
import { productKernel, productName } from "./product-kernel.ts";
import { gateKernel, normKernel, ropeKernel, softmaxKernel } from "./row-kernels.ts";
import { tryKernels } from "./try-kernels.ts";
import { assemble, Constants } from "./wasm-code.ts";
import { compileTwice, hasSameBits, type TryOut } from "./wide-modules.ts";
import { type WideVerdict, wideVerdict } from "./wide-verdict.ts";

/** The kernels of a model, ready for any thread. */
export interface CompiledKernels {
  module: WebAssembly.Module;
  /** Columns of weights that lie together. */
  panelWidth: number;
  /** Their memory is shared by the threads that compute a step together. */
  isShared: boolean;
}

/** With vectors of four numbers the sums of eight columns fit into registers. */
const plainPanelWidth = 8;

const known = new Map<string, CompiledKernels>();

/** The kernels of a model, on memory of one thread or of several; made once for each. */
export function compileKernels(config: ModelConfig, isShared = false): CompiledKernels {
  const key = JSON.stringify({ config, isShared });
  const compiled = known.get(key) ?? makeKernels(kernelShape(config), wideVerdict(), isShared);
  known.set(key, compiled);
  return compiled;
}

function makeKernels(shape: KernelShape, verdict: WideVerdict | undefined, isShared: boolean): CompiledKernels {
  const panelWidth = verdict?.panelWidth ?? plainPanelWidth;
  const bytes = kernelBytes(shape, panelWidth, isShared);
  if (verdict === undefined) return { module: new WebAssembly.Module(bytes), panelWidth, isShared };
  const tryOut = kernelTrial(shape, panelWidth, isShared);
  const { wide, plain } = compileTwice(bytes, verdict.tieringBudget, tryOut);
  return { module: hasSameBits(tryOut, wide, plain) ? wide : plain, panelWidth, isShared };
}

export function kernelTrial(shape: KernelShape, panelWidth: number, isShared = false): TryOut {
  return (module) => tryKernels(shape, { module, panelWidth, isShared });
}

/** The kernels of a shape, to be compiled. */
export function kernelBytes(shape: KernelShape, panelWidth: number, isShared = false): Uint8Array<ArrayBuffer> {
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
  return assemble(kernels, constants, isShared);
}
