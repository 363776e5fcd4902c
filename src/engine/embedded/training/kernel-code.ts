import { across } from "../kernels/softmax-parts.ts";
import {
  add,
  addFloat,
  addVector,
  type Code,
  type Constants,
  get,
  integer,
  isLess,
  join,
  type KernelCode,
  Locals,
  load,
  set,
  splat,
  store,
  when,
} from "../kernels/wasm-code.ts";

// What the kernels of training have in common. Rows are walked sixteen numbers at a time, as four vectors: V8 joins neighbours
// into vectors of eight where they are stored side by side.

export const floatBytes = 4;
export const vectorBytes = 16;
/** Numbers that a kernel takes at a time; every row is as long as a multiple of it. */
export const stride = 16;
export const strideBytes = stride * floatBytes;
export const four = [0, 1, 2, 3];

/** A kernel whose parameters have names. */
export function kernel<Name extends string>(
  name: string,
  parameters: readonly Name[],
  write: (parameter: Record<Name, Code>, locals: Locals) => Code,
): KernelCode {
  const locals = new Locals(parameters.length);
  const named = Object.fromEntries(parameters.map((one, i) => [one, get(i)])) as Record<Name, Code>;
  const body = write(named, locals);
  return { name, parameters: parameters.length, locals, body };
}

export type MakeKernel = (constants: Constants) => KernelCode;

/** Moves an address on. */
export const move = (address: number, by: Code): Code => set(address, add(get(address), by));

/** Runs the body for an index from 0 to below the limit, which may be 0. */
export function upTo(locals: Locals, limit: Code, body: Code): Code {
  const index = locals.make("integer");
  const next = set(index, add(get(index), integer(1)));
  const loop = [0x03, 0x40, ...body, ...next, ...isLess(get(index), limit), 0x0d, 0x00, 0x0b];
  return join(set(index, integer(0)), when(isLess(integer(0), limit), loop));
}

/** Walks over a row of so many strides: `from` addresses are copied, and moved with every stride. */
export function overRow(
  locals: Locals,
  strides: Code,
  from: readonly Code[],
  body: (...at: readonly Code[]) => Code,
): Code {
  const at = from.map(() => locals.make("integer"));
  return join(
    ...at.map((one, i) => set(one, from[i])),
    upTo(locals, strides, join(body(...at.map(get)), ...at.map((one) => move(one, integer(strideBytes))))),
  );
}

/** Walks over so many rows: each address of `from` is a local that begins there and moves by its own step. */
export function overRows(
  locals: Locals,
  rows: Code,
  from: readonly (readonly [start: Code, step: Code])[],
  body: (...at: readonly Code[]) => Code,
): Code {
  const at = from.map(() => locals.make("integer"));
  return join(
    ...at.map((one, i) => set(one, from[i][0])),
    upTo(locals, rows, join(body(...at.map(get)), ...at.map((one, i) => move(one, from[i][1])))),
  );
}

/** Sums vectors over a row: what `terms` gives is added up for every stride. The result is a float, through sixteen numbers of scratch. */
export function sumOverRow(
  locals: Locals,
  {
    strides,
    from,
    scratch,
    term,
  }: {
    strides: Code;
    from: readonly Code[];
    scratch: Code;
    term: (sum: Code, offset: number, ...at: readonly Code[]) => Code;
  },
): { code: Code; total: Code } {
  const sums = locals.many("vector", 4);
  const all = locals.make("vector");
  const [a, b, c, d] = four.map((i) => load(scratch, i * vectorBytes)) as [Code, Code, Code, Code];
  const code = join(
    ...sums.map((sum) => set(sum, splat(0))),
    overRow(locals, strides, from, (...at) =>
      join(...sums.map((sum, i) => set(sum, term(get(sum), i * vectorBytes, ...at)))),
    ),
    ...sums.map((sum, i) => store(scratch, get(sum), i * vectorBytes)),
    set(all, addVector(addVector(a, b), addVector(c, d))),
  );
  return { code, total: across(get(all), addFloat) };
}
