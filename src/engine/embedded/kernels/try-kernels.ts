import { createRng } from "../../../random.ts";
import { layerBytes } from "./attention-layout.ts";
import { KernelMemory } from "./kernel-memory.ts";
import type { KernelShape } from "./kernel-shape.ts";
import { Kernels } from "./kernels.ts";
import { modelProducts } from "./model-products.ts";

/** Enough for blocks of several sizes, and for attention over two blocks of tokens. */
const rows = 9;
const firstPosition = 17;
const columns = 32;

/** Runs every kernel once on the same random numbers and gives all that was written. */
export function tryKernels(
  shape: KernelShape,
  { module, panelWidth, isShared }: { module: WebAssembly.Module; panelWidth: number; isShared: boolean },
): Uint8Array {
  const memory = new KernelMemory({ shared: isShared });
  const kernels = new Kernels(shape, { module, memory, stepTokens: rows, logitRows: rows });
  const products = modelProducts(shape).map((product) => ({ ...product, columns }));
  const longest = Math.max(...products.map(({ inner }) => inner.length), shape.rows.states, shape.paddedHeadWidth);
  const { at } = kernels;
  const weights = memory.take(4 * longest * columns)!;
  const page = memory.take(layerBytes(shape))!;
  const list = memory.take(4)!;
  const end = memory.take(0)!;
  const rng = createRng(1);
  const numbers = memory.floats(at.states, (end - at.states) / 4);
  for (let i = 0; i < numbers.length; i++) numbers[i] = rng.next() * 2 - 1;
  memory.floats(at.inverseTemperatures, rows).fill(0.7);
  memory.integers(list, 1)[0] = page;
  memory.integers(at.pageLists, rows).fill(list);
  memory.integers(at.positions, rows).set(Array.from({ length: rows }, (_, i) => firstPosition + i));

  kernels.norm(weights, rows);
  const places = { projected: at.projected, output: at.states, gateUp: at.gateUp, down: at.states, head: at.logits };
  for (const product of products) {
    kernels.product({ product, weights, bias: weights }, panelWidth, at.normal, places[product.name], rows);
  }
  kernels.rope({ queryNorm: weights, keyNorm: weights }, rows);
  kernels.attend(0, { count: rows, written: rows });
  // a single token is attended to by code of its own
  kernels.attend(0, { count: 1, written: 0 });
  kernels.gate(rows);
  kernels.softmax(rows);
  return new Uint8Array(memory.memory.buffer, 0, end).slice();
}
