const [size, middle] = [624, 397];

/** `random.seed(seed)` and then `random.shuffle` of a list of this length, as CPython does them: the order of the old indices. */
export function pythonShuffle(length: number, seed: number): readonly number[] {
  const below = drawsBelow(seed);
  const order = Array.from({ length }, (_, index) => index);
  for (let i = length - 1; i > 0; i--) {
    const j = below(i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** The Mersenne Twister MT19937 (Matsumoto and Nishimura 1998), seeded with one word as `init_by_array` does. */
function drawsBelow(seed: number): (limit: number) => number {
  const state = seeded(seed);
  let index = size;
  const next = () => {
    if (index >= size) {
      twist(state);
      index = 0;
    }
    let word = state[index++];
    word ^= word >>> 11;
    word ^= (word << 7) & 0x9d2c5680;
    word ^= (word << 15) & 0xefc60000;
    return (word ^ (word >>> 18)) >>> 0;
  };
  return (limit) => {
    const bits = 32 - Math.clz32(limit);
    for (;;) {
      const drawn = next() >>> (32 - bits);
      if (drawn < limit) return drawn;
    }
  };
}

function seeded(seed: number): Uint32Array {
  const state = new Uint32Array(size);
  state[0] = 19650218;
  for (let i = 1; i < size; i++) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
  let i = 1;
  for (let k = 0; k < size; k++) {
    state[i] = (state[i] ^ Math.imul(state[i - 1] ^ (state[i - 1] >>> 30), 1664525)) + seed;
    i = advance(state, i);
  }
  for (let k = 0; k < size - 1; k++) {
    state[i] = (state[i] ^ Math.imul(state[i - 1] ^ (state[i - 1] >>> 30), 1566083941)) - i;
    i = advance(state, i);
  }
  state[0] = 0x80000000;
  return state;
}

function advance(state: Uint32Array, i: number): number {
  if (i + 1 < size) return i + 1;
  state[0] = state[size - 1];
  return 1;
}

function twist(state: Uint32Array): void {
  for (let i = 0; i < size; i++) {
    const joined = (state[i] & 0x80000000) | (state[(i + 1) % size] & 0x7fffffff);
    state[i] = state[(i + middle) % size] ^ (joined >>> 1) ^ (joined & 1 ? 0x9908b0df : 0);
  }
}
