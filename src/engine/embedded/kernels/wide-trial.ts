// The trial of wide vectors, in a process of its own: `node wide-trial.ts <tiering budget>`. It sets V8's flags as the program will, and
// writes the width of panels that is fastest, if all kernels have the bits that they have without the flags.

import { small, tiny } from "../../model/model-config.ts";
import { trainingBytes, trainingTrial } from "../training/compile-training.ts";
import { kernelBytes, kernelTrial } from "./compile-kernels.ts";
import { kernelShape } from "./kernel-shape.ts";
import { productArguments, productKernel, productName } from "./product-kernel.ts";
import { assemble, Constants } from "./wasm-code.ts";
import { whileWide } from "./wide-flags.ts";
import { compileTwice, hasSameBits, type TryOut } from "./wide-modules.ts";

const panelWidths = [16, 8] as const;

/** A product of twelve rows and 64 columns with wide vectors. */
function makeProduct(panelWidth: number, tieringBudget: number): () => void {
  const shape = { inner: 128, stride: 128, bias: false, onto: false };
  const [rows, columns] = [12, 64];
  const memory = new WebAssembly.Memory({ initial: 2 });
  const bytes = assemble([productKernel(shape, panelWidth)], new Constants());
  const [states, weights, out] = [64, 8192, 65_536];
  const call = { states, weights, out, bias: 0, panels: columns / panelWidth, outStride: columns * 4 };
  const addresses = productArguments(call, rows);
  return whileWide(tieringBudget, () => {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { host: { memory } });
    const product = exports[productName(shape)] as (...addresses: number[]) => void;
    product(...addresses);
    return () => product(...addresses);
  });
}

/**
 * Sixteen columns keep registers of eight numbers busy, eight those of four. What V8 makes of the code cannot be asked, only timed: by
 * turns, and often, as other programs run too.
 */
function fastestWidth(tieringBudget: number): number {
  const timed = panelWidths.map((width) => ({ width, run: makeProduct(width, tieringBudget), best: Infinity }));
  for (let round = 0; round < 1000; round++) {
    for (const one of timed) {
      const start = performance.now();
      for (let i = 0; i < 5; i++) one.run();
      one.best = Math.min(one.best, performance.now() - start);
    }
  }
  return timed.reduce((a, b) => (b.best < a.best ? b : a)).width;
}

function trial(tieringBudget: number): number {
  const configs = [
    tiny({ vocabularySize: 259, family: "qwen3" }),
    small({ vocabularySize: 259 }),
    tiny({ vocabularySize: 33, width: 30, heads: 3, headWidth: 10, keyValueHeads: 1, family: "qwen2" }),
  ];
  const check = (bytes: Uint8Array<ArrayBuffer>, tryOut: TryOut) => {
    const { wide, plain } = compileTwice(bytes, tieringBudget, tryOut);
    if (!hasSameBits(tryOut, wide, plain)) throw new Error("wide vectors gave other bits");
  };
  for (const panelWidth of panelWidths) {
    for (const shape of configs.map(kernelShape)) {
      check(kernelBytes(shape, panelWidth), kernelTrial(shape, panelWidth));
    }
    check(trainingBytes(panelWidth), trainingTrial(panelWidth));
  }
  return fastestWidth(tieringBudget);
}

process.stdout.write(JSON.stringify({ panelWidth: trial(Number(process.argv[2])) }));
