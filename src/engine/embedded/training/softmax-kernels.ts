import { exponentials } from "../kernels/exponential.ts";
import { across, softmaxParts } from "../kernels/softmax-parts.ts";
import {
  add,
  addFloat,
  addVector,
  and,
  type Code,
  type Constants,
  float,
  fused,
  get,
  integer,
  join,
  type KernelCode,
  type Locals,
  load,
  loadSplat,
  maxFloat,
  maxVector,
  multiply,
  multiplyVector,
  set,
  shiftRight,
  splat,
  splatOf,
  store,
  storeAll,
  storeFloat,
  subtractVector,
} from "../kernels/wasm-code.ts";
import {
  floatBytes,
  four,
  kernel,
  move,
  overRow,
  overRows,
  stride,
  strideBytes,
  sumOverRow,
  upTo,
  vectorBytes,
} from "./kernel-code.ts";

/**
 * Scores to attention weights, in place. Row i has `first + i` scores; behind them weights are 0, up to the end of its strides. `scale` is the
 * address of a factor.
 */
export function softmaxKernel(constants: Constants): KernelCode {
  const parameters = ["scores", "scoresRow", "rows", "first", "strides", "scale", "scratch"];
  return kernel("softmax", parameters, (p, locals) => {
    const { count, own, at, scratch } = locals.named("integer", "count", "own", "at", "scratch");
    const { scale, share } = locals.named("vector", "scale", "share");
    return join(
      set(count, p.first),
      set(scratch, p.scratch),
      set(scale, loadSplat(p.scale)),
      overRows(locals, p.rows, [[p.scores, p.scoresRow]], (row) => {
        const loop = (body: Code) =>
          join(set(at, row), upTo(locals, get(own), join(body, move(at, integer(strideBytes)))));
        return join(
          set(own, shiftRight(add(get(count), integer(stride - 1)), 4)),
          hideRest(locals, row, get(count)),
          softmaxParts(locals, { from: at, scratch, loop, scale: get(scale), constants }),
          set(share, loadSplat(get(scratch))),
          loop(
            storeAll(
              locals,
              get(at),
              four.map((i) => multiplyVector(load(get(at), i * vectorBytes), get(share))),
            ),
          ),
          // `at` is behind the row's own strides
          upTo(
            locals,
            add(p.strides, multiply(get(own), integer(-1))),
            join(...four.map((i) => store(get(at), splat(0), i * vectorBytes)), move(at, integer(strideBytes))),
          ),
          move(count, integer(1)),
        );
      }),
    );
  });
}

/** Very negative numbers from a count to the end of its stride. */
function hideRest(locals: Locals, row: Code, count: Code): Code {
  const at = locals.make("integer");
  return join(
    set(at, add(row, multiply(count, integer(floatBytes)))),
    upTo(
      locals,
      and(add(integer(stride), multiply(and(count, stride - 1), integer(-1))), stride - 1),
      join(storeFloat(get(at), float(-1e30)), move(at, integer(floatBytes))),
    ),
  );
}

/** Derivatives of scores from those of attention weights, in place of the latter: weight·(g - sum(weight·g))·scale. */
export function softmaxBackwardKernel(): KernelCode {
  const parameters = ["weights", "gradient", "gradientRow", "rows", "strides", "scale", "scratch"];
  return kernel("softmaxBackward", parameters, (p, locals) => {
    const { scale, mean } = locals.named("vector", "scale", "mean");
    return join(
      set(scale, loadSplat(p.scale)),
      overRows(
        locals,
        p.rows,
        [
          [p.weights, p.gradientRow],
          [p.gradient, p.gradientRow],
        ],
        (weights, gradient) => {
          const sum = sumOverRow(locals, {
            strides: p.strides,
            from: [weights, gradient],
            scratch: p.scratch,
            term: (so, offset, w, g) => fused(load(w, offset), load(g, offset), so),
          });
          return join(
            sum.code,
            set(mean, splatOf(sum.total)),
            overRow(locals, p.strides, [weights, gradient], (w, g) =>
              storeAll(
                locals,
                g,
                four.map((i) => {
                  const difference = subtractVector(load(g, i * vectorBytes), get(mean));
                  return multiplyVector(multiplyVector(load(w, i * vectorBytes), get(scale)), difference);
                }),
              ),
            ),
          );
        },
      ),
    );
  });
}

/**
 * For each row of logits: t = (logit - largest)·scale in place, e = exp(t) beside, and in `sums` the sum of e and of e·t. The row has `count`
 * logits, the rest of its strides is filled with very negative ones.
 */
export function logitsKernel(constants: Constants): KernelCode {
  const parameters = ["logits", "powers", "row", "rows", "count", "strides", "scale", "sums", "scratch"];
  return kernel("logits", parameters, (p, locals) => {
    const { scale, largest } = locals.named("vector", "scale", "largest");
    return join(
      set(scale, loadSplat(p.scale)),
      overRows(
        locals,
        p.rows,
        [
          [p.logits, p.row],
          [p.powers, p.row],
          [p.sums, integer(2 * floatBytes)],
        ],
        (logits, powers, sums) => {
          const best = locals.many("vector", 4);
          const e = locals.many("vector", 4);
          const t = locals.many("vector", 4);
          const total = locals.many("vector", 4);
          const weighted = locals.many("vector", 4);
          const combined = (combine: (a: Code, b: Code) => Code, one: (a: Code, b: Code) => Code) => {
            const [a, b, c, d] = four.map((i) => load(p.scratch, i * vectorBytes)) as [Code, Code, Code, Code];
            const all = locals.make("vector");
            return { code: set(all, combine(combine(a, b), combine(c, d))), value: across(get(all), one) };
          };
          const keep = (locals4: readonly number[]) =>
            join(...locals4.map((one, i) => store(p.scratch, get(one), i * vectorBytes)));
          const max = combined(maxVector, maxFloat);
          const [sum, sumWeighted] = [combined(addVector, addFloat), combined(addVector, addFloat)];
          return join(
            hideRest(locals, logits, p.count),
            ...best.map((one) => set(one, splat(-1e30))),
            overRow(locals, p.strides, [logits], (at) =>
              join(...best.map((one, i) => set(one, maxVector(get(one), load(at, i * vectorBytes))))),
            ),
            keep(best),
            max.code,
            set(largest, splatOf(max.value)),
            ...[...total, ...weighted].map((one) => set(one, splat(0))),
            overRow(locals, p.strides, [logits, powers], (at, out) =>
              join(
                ...t.map((one, i) =>
                  set(one, multiplyVector(subtractVector(load(at, i * vectorBytes), get(largest)), get(scale))),
                ),
                ...e.map((one, i) => set(one, get(t[i]))),
                exponentials(locals, constants, e),
                ...t.map((one, i) => store(at, get(one), i * vectorBytes)),
                ...e.map((one, i) => store(out, get(one), i * vectorBytes)),
                ...total.map((one, i) => set(one, addVector(get(one), get(e[i])))),
                ...weighted.map((one, i) => set(one, fused(get(e[i]), get(t[i]), get(one)))),
              ),
            ),
            keep(total),
            sum.code,
            storeFloat(sums, sum.value),
            keep(weighted),
            sumWeighted.code,
            storeFloat(sums, sumWeighted.value, floatBytes),
          );
        },
      ),
    );
  });
}

/** Derivatives of logits in place of t: e·(c0 + c1·t), with two coefficients for each row. */
export function logitsBackwardKernel(): KernelCode {
  const parameters = ["logits", "powers", "row", "rows", "strides", "coefficients"];
  return kernel("logitsBackward", parameters, (p, locals) => {
    const { base, slope } = locals.named("vector", "base", "slope");
    return overRows(
      locals,
      p.rows,
      [
        [p.logits, p.row],
        [p.powers, p.row],
        [p.coefficients, integer(2 * floatBytes)],
      ],
      (logits, powers, coefficients) =>
        join(
          set(base, loadSplat(coefficients)),
          set(slope, loadSplat(coefficients, floatBytes)),
          overRow(locals, p.strides, [logits, powers], (at, e) =>
            storeAll(
              locals,
              at,
              four.map((i) => {
                const o = i * vectorBytes;
                return multiplyVector(load(e, o), fused(load(at, o), get(slope), get(base)));
              }),
            ),
          ),
        ),
    );
  });
}
