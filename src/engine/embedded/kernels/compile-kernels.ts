import { setFlagsFromString } from "node:v8";
import type { ModelConfig } from "../../model/model-config.ts";
import { attentionKernel } from "./attention-kernel.ts";
import { type KernelShape, kernelShape } from "./kernel-shape.ts";
import { modelProducts } from "./model-products.ts";
import { productArguments, productKernel, productName } from "./product-kernel.ts";
import { gateKernel, normKernel, ropeKernel, softmaxKernel } from "./row-kernels.ts";
import { tryKernels } from "./try-kernels.ts";
import { assemble, Constants, withNote } from "./wasm-code.ts";

/** The kernels of a model, ready for any thread. */
export interface CompiledKernels {
  module: WebAssembly.Module;
  /** Columns of weights that lie together. */
  panelWidth: number;
  /** Whether they compute in memory that threads share. */
  isShared: boolean;
}

/**
 * WebAssembly has vectors of four numbers. V8 can join two neighbours into one of eight where the processor has them, which
 * doubles the speed of products, if it is asked to; there is no such wish for a single module, so the flags hold only while ours
 * is compiled, at once and with optimization. Where V8 does not know them the kernels work as they are. Flags that the program was
 * started with stay.
 */
const flags = [
  { on: "--experimental-wasm-revectorize", off: "--no-experimental-wasm-revectorize" },
  { on: "--no-liftoff", off: "--liftoff" },
  { on: "--no-wasm-lazy-compilation", off: "--wasm-lazy-compilation" },
].filter(({ on }) => !process.execArgv.includes(on));

export function compileWide(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module {
  for (const { on } of flags) setFlagsFromString(on);
  try {
    return new WebAssembly.Module(bytes);
  } finally {
    for (const { off } of flags) setFlagsFromString(off);
  }
}

const known = new Map<string, CompiledKernels>();

/** The kernels of a model, on memory of one thread or of several; made once for each. */
export function compileKernels(config: ModelConfig, isShared = false): CompiledKernels {
  const key = JSON.stringify({ config, isShared });
  const compiled = known.get(key) ?? makeKernels(config, isShared);
  known.set(key, compiled);
  return compiled;
}

function makeKernels(config: ModelConfig, isShared: boolean): CompiledKernels {
  const shape = kernelShape(config);
  const panelWidth = bestPanelWidth();
  const { wide, plain } = compileBoth(shape, panelWidth, isShared);
  // an experiment of V8 is used where it gives the same bits as the code without it, on this very machine
  const [a, b] = [wide, plain].map((module) => tryKernels(shape, { module, panelWidth, isShared })) as [
    Uint8Array,
    Uint8Array,
  ];
  return { module: Buffer.compare(a, b) === 0 ? wide : plain, panelWidth, isShared };
}

/** The same kernels twice: as V8 makes them for our flags, and for those of the program. */
export function compileBoth(
  shape: KernelShape,
  panelWidth: number,
  isShared = false,
): { wide: WebAssembly.Module; plain: WebAssembly.Module } {
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
  const bytes = assemble(kernels, constants, isShared);
  // V8 would take the same bytes for the same module
  return { wide: compileWide(bytes), plain: new WebAssembly.Module(withNote(bytes, "plain")) };
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
  const module = compileWide(assemble([productKernel(shape, panelWidth)], new Constants()));
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
