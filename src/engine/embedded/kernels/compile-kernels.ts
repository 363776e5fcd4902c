import { setFlagsFromString } from "node:v8";
import type { ModelConfig } from "../model-config.ts";
import { attentionKernel } from "./attention-kernel.ts";
import { kernelShape } from "./kernel-shape.ts";
import { modelProducts } from "./model-products.ts";
import { productArguments, productKernel, productName } from "./product-kernel.ts";
import { gateKernel, normKernel, softmaxKernel, turnKernel } from "./row-kernels.ts";
import { assemble, type KernelCode } from "./wasm-code.ts";

/** The kernels of a model, ready for any thread. */
export interface CompiledKernels {
  module: WebAssembly.Module;
  /** Columns of weights that lie together. */
  panelWidth: number;
}

/**
 * WebAssembly has vectors of four numbers. V8 can join two neighbours into one of eight where the processor has them, which
 * doubles the speed of products, if it is asked to; it has no such thing for single modules, so the flags hold only while ours
 * is compiled, at once and with optimization. Where V8 does not know them the kernels work as they are.
 */
const flags = {
  before: ["--experimental-wasm-revectorize", "--no-liftoff", "--no-wasm-lazy-compilation"],
  after: ["--no-experimental-wasm-revectorize", "--liftoff", "--wasm-lazy-compilation"],
};

function compile(functions: readonly KernelCode[]): WebAssembly.Module {
  const bytes = assemble(functions);
  for (const flag of flags.before) setFlagsFromString(flag);
  try {
    return new WebAssembly.Module(bytes);
  } finally {
    for (const flag of flags.after) setFlagsFromString(flag);
  }
}

export function compileKernels(config: ModelConfig): CompiledKernels {
  const shape = kernelShape(config);
  const panelWidth = bestPanelWidth();
  const products = new Map(modelProducts(shape).map((product) => [productName(product.shape), product.shape]));
  const module = compile([
    ...[...products.values()].map((product) => productKernel(product, panelWidth)),
    normKernel(shape),
    turnKernel(shape),
    gateKernel(shape),
    softmaxKernel(shape),
    attentionKernel(shape),
  ]);
  return { module, panelWidth };
}

let knownPanelWidth: number | undefined;

/**
 * Sixteen columns keep registers of eight numbers busy, eight those of four: with the wrong ones sums do not fit into registers. What
 * V8 makes of the code cannot be asked, only timed; the numbers are the same either way.
 */
function bestPanelWidth(): number {
  knownPanelWidth ??= [16, 8].reduce((best, other) => (timeProduct(other) < timeProduct(best) ? other : best));
  return knownPanelWidth;
}

function timeProduct(panelWidth: number): number {
  const shape = { inner: 128, stride: 128, bias: false, onto: false };
  const [rows, columns] = [12, 64];
  const memory = new WebAssembly.Memory({ initial: 2 });
  const module = compile([productKernel(shape, panelWidth)]);
  const { exports } = new WebAssembly.Instance(module, { host: { memory } });
  const product = exports[productName(shape)] as (...addresses: number[]) => void;
  const [states, weights, out] = [64, 8192, 65_536];
  const call = { states, weights, out, bias: 0, panels: columns / panelWidth, outStride: columns * 4 };
  const addresses = productArguments(call, rows);
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 20; round++) {
    const start = performance.now();
    for (let i = 0; i < 5; i++) product(...addresses);
    best = Math.min(best, performance.now() - start);
  }
  return best;
}
