import {
  type AttentionCall,
  blockAddress,
  blockTokens,
  bytes,
  headBytes,
  layerBytes,
  listOf,
  parameter,
  parameterNames,
  positionOf,
  projectedRow,
} from "./attention-layout.ts";
import { readAll } from "./attention-read.ts";
import type { KernelShape } from "./kernel-shape.ts";
import {
  add,
  and,
  type Code,
  type Constants,
  countTo,
  get,
  integer,
  isLess,
  join,
  type KernelCode,
  Locals,
  loadFloat,
  multiply,
  set,
  shiftLeft,
  shiftRight,
  storeFloat,
  when,
} from "./wasm-code.ts";

/**
 * Attention of single tokens to a paged cache, in WebAssembly with vectors. ONNX Runtime needs a product per row and head, padded
 * to a common length, and operators for masks, concatenation and softmax between them; here a row costs what it is long.
 * A token's result depends on its own row alone, and is the same whether it was part of a prompt or sampled.
 */
export function attentionKernel(shape: KernelShape, constants: Constants): KernelCode {
  const locals = new Locals(parameterNames.length);
  const body = join(writeEntries(shape, locals), readAll(shape, locals, constants));
  return { name: "attend", parameters: parameterNames.length, locals, body };
}

/** The arguments of the kernel, in its order. */
export function attentionArguments(call: AttentionCall): number[] {
  return parameterNames.map((name) => call[name]);
}

/** Puts the new keys and values of every token into its page. */
function writeEntries(shape: KernelShape, locals: Locals): Code {
  const { paddedHeadWidth, config } = shape;
  const { heads, keyValueHeads } = config;
  const { token, position, page, row, column, entry } = locals.named(
    "integer",
    "token",
    "position",
    "page",
    "row",
    "column",
    "entry",
  );
  const inBlock = and(get(position), blockTokens - 1);
  const copies: Code[] = [];
  for (let head = 0; head < keyValueHeads; head++) {
    const keys = head * headBytes(shape);
    const values = layerBytes(shape) / 2 + keys;
    for (let d = 0; d < paddedHeadWidth; d++) {
      const [key, value] = [heads + head, heads + keyValueHeads + head].map((part) =>
        loadFloat(get(row), (part * paddedHeadWidth + d) * bytes),
      ) as [Code, Code];
      copies.push(
        storeFloat(get(column), key, keys + d * blockTokens * bytes),
        storeFloat(get(entry), value, values + d * bytes),
      );
    }
  }
  const body = join(
    set(position, positionOf(token)),
    set(page, blockAddress(shape, listOf(token), shiftRight(get(position), 4))),
    set(row, projectedRow(shape, token)),
    set(column, add(get(page), shiftLeft(inBlock, 2))),
    set(entry, add(get(page), multiply(inBlock, integer(paddedHeadWidth * bytes)))),
    ...copies,
  );
  return when(isLess(integer(0), parameter.written), countTo(token, parameter.written, body));
}
