// As much of an assembler for WebAssembly as the kernels need. An instruction is its bytes; code is instructions in the order
// they run. Vectors are four floats (f32x4).

export type Code = readonly number[];

function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = rest % 128;
    rest = Math.floor(rest / 128);
    bytes.push(rest > 0 ? low + 128 : low);
  } while (rest > 0);
  return bytes;
}

function signed(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (true) {
    const low = rest & 0x7f;
    rest >>= 7;
    const isDone = (rest === 0 && (low & 0x40) === 0) || (rest === -1 && (low & 0x40) !== 0);
    bytes.push(isDone ? low : low | 0x80);
    if (isDone) return bytes;
  }
}

function floatBytes(value: number): number[] {
  return [...new Uint8Array(Float32Array.of(value).buffer)];
}

export const join = (...parts: readonly Code[]): Code => parts.flat();
const simd = (opcode: number): number[] => [0xfd, ...unsigned(opcode)];
/** Alignment (as a power of two) and offset of a memory instruction. */
const at = (alignment: number, offset: number): number[] => [...unsigned(alignment), ...unsigned(offset)];

export const get = (local: number): Code => [0x20, ...unsigned(local)];
export const set = (local: number, value: Code): Code => [...value, 0x21, ...unsigned(local)];
export const integer = (value: number): Code => [0x41, ...signed(value)];
export const add = (a: Code, b: Code): Code => [...a, ...b, 0x6a];
export const multiply = (a: Code, b: Code): Code => [...a, ...b, 0x6c];
export const shiftLeft = (a: Code, bits: number): Code => [...a, ...integer(bits), 0x74];
export const shiftRight = (a: Code, bits: number): Code => [...a, ...integer(bits), 0x76];
export const and = (a: Code, mask: number): Code => [...a, ...integer(mask), 0x71];
export const isEqual = (a: Code, b: Code): Code => [...a, ...b, 0x46];
export const isDifferent = (a: Code, b: Code): Code => [...a, ...b, 0x47];
export const isLess = (a: Code, b: Code): Code => [...a, ...b, 0x48];
export const loadInteger = (address: Code, offset = 0): Code => [...address, 0x28, ...at(2, offset)];

export const storeFloat = (address: Code, value: Code, offset = 0): Code => [
  ...address,
  ...value,
  0x38,
  ...at(2, offset),
];
export const loadFloat = (address: Code, offset = 0): Code => [...address, 0x2a, ...at(2, offset)];
export const float = (value: number): Code => [0x43, ...floatBytes(value)];
export const divideFloat = (a: Code, b: Code): Code => [...a, ...b, 0x95];
export const addFloat = (a: Code, b: Code): Code => [...a, ...b, 0x92];
export const multiplyFloat = (a: Code, b: Code): Code => [...a, ...b, 0x94];
export const rootFloat = (a: Code): Code => [...a, 0x91];
export const maxFloat = (a: Code, b: Code): Code => [...a, ...b, 0x97];

export const load = (address: Code, offset = 0): Code => [...address, ...simd(0x00), ...at(4, offset)];
export const loadSplat = (address: Code, offset = 0): Code => [...address, ...simd(0x09), ...at(2, offset)];
export const store = (address: Code, value: Code, offset = 0): Code => [
  ...address,
  ...value,
  ...simd(0x0b),
  ...at(4, offset),
];
export const splat = (value: number): Code => [...simd(0x0c), ...[0, 1, 2, 3].flatMap(() => floatBytes(value))];
export const splatOf = (value: Code): Code => [...value, ...simd(0x13)];
export const lane = (vector: Code, index: number): Code => [...vector, ...simd(0x1f), index];
export const addVector = (a: Code, b: Code): Code => [...a, ...b, ...simd(0xe4)];
export const subtractVector = (a: Code, b: Code): Code => [...a, ...b, ...simd(0xe5)];
export const multiplyVector = (a: Code, b: Code): Code => [...a, ...b, ...simd(0xe6)];
export const divideVector = (a: Code, b: Code): Code => [...a, ...b, ...simd(0xe7)];
export const absoluteVector = (a: Code): Code => [...a, ...simd(0xe0)];
export const negateVector = (a: Code): Code => [...a, ...simd(0xe1)];
export const maxVector = (a: Code, b: Code): Code => [...a, ...b, ...simd(0xe9)];
/** All bits of a lane where a is above b, none elsewhere. */
export const isAbove = (a: Code, b: Code): Code => [...a, ...b, ...simd(0x44)];
export const andBits = (a: Code, b: Code): Code => [...a, ...b, ...simd(0x4e)];
/** Bits of a where the mask has them set, of b elsewhere. */
export const either = (a: Code, b: Code, mask: Code): Code => [...a, ...b, ...mask, ...simd(0x52)];
export const addIntegers = (a: Code, b: Code): Code => [...a, ...b, ...simd(0xae)];
export const shiftIntegersLeft = (a: Code, bits: number): Code => [...a, ...integer(bits), ...simd(0xab)];
/** a · b + c, in one rounding where the processor can. */
export const fused = (a: Code, b: Code, c: Code): Code => [...a, ...b, ...c, ...simd(0x105)];

/** Runs the body at least once, and again while the condition, computed after it, holds. */
export const repeatWhile = (body: Code, condition: Code): Code => [0x03, 0x40, ...body, ...condition, 0x0d, 0x00, 0x0b];
/** Runs the body for an index from 0 to below the limit; the limit must be above 0. */
export function countTo(index: number, limit: Code, body: Code): Code {
  const next = set(index, add(get(index), integer(1)));
  return join(set(index, integer(0)), repeatWhile(join(body, next), isLess(get(index), limit)));
}
/** Runs the body if the condition holds. */
export const when = (condition: Code, body: Code): Code => [...condition, 0x04, 0x40, ...body, 0x0b];

export type LocalType = "integer" | "float" | "vector";
const typeByte: Record<LocalType, number> = { integer: 0x7f, float: 0x7d, vector: 0x7b };

/** Numbers of a function's parameters and locals, handed out by name. */
export class Locals {
  readonly #types: LocalType[] = [];
  readonly #parameters: number;

  constructor(parameters: number) {
    this.#parameters = parameters;
  }

  make(type: LocalType): number {
    this.#types.push(type);
    return this.#parameters + this.#types.length - 1;
  }

  /** One of a type for each name. */
  named<Name extends string>(type: LocalType, ...names: readonly Name[]): Record<Name, number> {
    return Object.fromEntries(names.map((name) => [name, this.make(type)])) as Record<Name, number>;
  }

  many(type: LocalType, count: number): number[] {
    return Array.from({ length: count }, () => this.make(type));
  }

  declarations(): number[] {
    return [...unsigned(this.#types.length), ...this.#types.flatMap((type) => [1, typeByte[type]])];
  }
}

/**
 * Stores vectors side by side, once all of them are computed. V8 joins neighbours into vectors of eight where stores follow each
 * other, from one address, with no load between them.
 */
export function storeAll(locals: Locals, address: Code, values: readonly Code[], offset = 0): Code {
  const computed = values.map((value) => ({ local: locals.make("vector"), value }));
  return join(
    ...computed.map(({ local, value }) => set(local, value)),
    ...computed.map(({ local }, i) => store(address, get(local), offset + i * 16)),
  );
}

function section(id: number, content: readonly number[]): number[] {
  return [id, ...unsigned(content.length), ...content];
}

function name(text: string): number[] {
  return [...unsigned(text.length), ...Buffer.from(text)];
}

/** Where the constants of a module begin in its memory, and how much room they have. */
const constantsAt = 16;
export const constantsEnd = 256;

/**
 * Numbers that the module finds at the beginning of its memory. V8 makes a constant vector anew wherever it is used, in several
 * instructions; to load it takes one.
 */
export class Constants {
  readonly #words: number[] = [];

  /** A vector of one float, loaded. */
  float(value: number): Code {
    return this.#word(new Int32Array(Float32Array.of(value).buffer)[0]);
  }

  /** A vector of one integer, loaded. */
  integer(value: number): Code {
    return this.#word(value | 0);
  }

  #word(word: number): Code {
    if (!this.#words.includes(word)) this.#words.push(word);
    return loadSplat(integer(0), constantsAt + 4 * this.#words.indexOf(word));
  }

  data(): number[] {
    if (constantsAt + 4 * this.#words.length > constantsEnd) throw new Error(`${this.#words.length} constants`);
    return [...new Uint8Array(Int32Array.from(this.#words).buffer)];
  }
}

/** A function of integers that returns nothing. */
export interface KernelCode {
  name: string;
  parameters: number;
  locals: Locals;
  body: Code;
}

/** A memory's size as an import declares it: at least 0 pages, and where threads share it at most all that 32 bits address. */
const anyMemory = [0x00, 0];
const sharedMemory = [0x03, 0, ...unsigned(65_536)];

/** A module that exports the functions, on a memory it is given, which threads may share. */
export function assemble(
  functions: readonly KernelCode[],
  constants: Constants,
  isShared = false,
): Uint8Array<ArrayBuffer> {
  const list = (parts: readonly (readonly number[])[]) => [...unsigned(parts.length), ...parts.flat()];
  const types = functions.map(({ parameters }) => [
    ...[0x60, ...unsigned(parameters)],
    ...new Array<number>(parameters).fill(typeByte.integer),
    0,
  ]);
  const codes = functions.map(({ locals, body }) => {
    const code = [...locals.declarations(), ...body, 0x0b];
    return [...unsigned(code.length), ...code];
  });
  const data = constants.data();
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list(types)),
    ...section(2, [1, ...name("host"), ...name("memory"), 0x02, ...(isShared ? sharedMemory : anyMemory)]),
    ...section(3, list(functions.map((_, i) => unsigned(i)))),
    ...section(7, list(functions.map((one, i) => [...name(one.name), 0x00, ...unsigned(i)]))),
    ...section(10, list(codes)),
    ...section(11, list([[0x00, ...integer(constantsAt), 0x0b, ...unsigned(data.length), ...data]])),
  ]);
}

/** The same module with a section that nobody reads. */
export function withNote(module: Uint8Array, note: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...module, ...section(0, name(note))]);
}
