import { assemble, Constants } from "../kernels/wasm-code.ts";
import { compileTwice, hasSameBits, type TryOut } from "../kernels/wide-modules.ts";
import { wideVerdict } from "../kernels/wide-verdict.ts";
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
  const verdict = wideVerdict();
  const bytes = trainingBytes(panelWidth);
  if (verdict === undefined) return { module: new WebAssembly.Module(bytes), panelWidth };
  const tryOut = trainingTrial(panelWidth);
  const { wide, plain } = compileTwice(bytes, verdict.tieringBudget, tryOut);
  return { module: hasSameBits(tryOut, wide, plain) ? wide : plain, panelWidth };
}

export function trainingTrial(panelWidth: number): TryOut {
  return (module) => tryTrainingKernels({ module, panelWidth });
}

/** The kernels of training, to be compiled. */
export function trainingBytes(panelWidth: number): Uint8Array<ArrayBuffer> {
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
  return assemble(kernels, constants);
}
