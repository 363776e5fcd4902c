import { compileWide } from "../kernels/compile-kernels.ts";
import { assemble, Constants, withNote } from "../kernels/wasm-code.ts";
import { gemmKernel } from "./gemm-kernel.ts";
import { gateBackwardKernel, gateKernel, ropeKernel } from "./layer-kernels.ts";
import { copyKernel, packKernel, sumRowsKernel, transposeKernel, transposeRowKernel } from "./layout-kernels.ts";
import { normBackwardKernel, normKernel } from "./norm-kernels.ts";
import { logitsBackwardKernel, logitsKernel, softmaxBackwardKernel, softmaxKernel } from "./softmax-kernels.ts";
import type { CompiledTraining } from "./training-kernels.ts";
import { tryTrainingKernels } from "./try-training-kernels.ts";

const known = new Map<number, CompiledTraining>();

/** The kernels of training, which are the same for every model; made once. */
export function compileTraining(panelWidth: number): CompiledTraining {
  const compiled = known.get(panelWidth) ?? makeTraining(panelWidth);
  known.set(panelWidth, compiled);
  return compiled;
}

function makeTraining(panelWidth: number): CompiledTraining {
  const { wide, plain } = compileBothTrainings(panelWidth);
  // an experiment of V8 is used where it gives the same bits as the code without it, on this very machine
  const [a, b] = [wide, plain].map((module) => tryTrainingKernels({ module, panelWidth })) as [Uint8Array, Uint8Array];
  return { module: Buffer.compare(a, b) === 0 ? wide : plain, panelWidth };
}

/** The same kernels twice: with V8's vectors of eight, and without. */
export function compileBothTrainings(panelWidth: number): { wide: WebAssembly.Module; plain: WebAssembly.Module } {
  const constants = new Constants();
  const kernels = [
    gemmKernel("rows", panelWidth),
    gemmKernel("columns", panelWidth),
    copyKernel("copy"),
    copyKernel("add"),
    packKernel(panelWidth),
    transposeKernel(panelWidth),
    transposeRowKernel(panelWidth),
    sumRowsKernel(),
    normKernel(),
    normBackwardKernel("onto"),
    normBackwardKernel("over"),
    ropeKernel("rotate"),
    ropeKernel("rotateBack"),
    gateKernel(constants),
    gateBackwardKernel(constants),
    softmaxKernel(constants),
    softmaxBackwardKernel(),
    logitsKernel(constants),
    logitsBackwardKernel(),
  ];
  const bytes = assemble(kernels, constants);
  // V8 would take the same bytes for the same module
  return { wide: compileWide(bytes), plain: new WebAssembly.Module(withNote(bytes, "plain")) };
}
