import { padRows, unpadRows } from "../../operators/pad-rows.ts";
import { pick, placeAdd } from "../../operators/place.ts";
import { addRows, takeRows } from "../../operators/rows.ts";
import { top } from "../../operators/top.ts";
import type { Shape } from "../../shape.ts";
import { at, fill, indices, mapRows, type Numbers } from "../numbers.ts";
import { type CaseInput, floats, type OperatorCase, wholes } from "../operator-case.ts";
import type { Random } from "../random.ts";

/** A copy of `x` with every update added at the index it belongs to. */
function addedAt(x: Numbers, updates: Numbers, place: (index: readonly number[]) => readonly number[]): Numbers {
  const sum = { shape: x.shape, data: Float64Array.from(x.data) };
  for (const index of indices(updates.shape)) {
    const flat = place(index).reduce((total, i, axis) => total * x.shape[axis] + i, 0);
    sum.data[flat] = sum.data[flat] + at(updates, index);
  }
  return sum;
}

// three rows and up to twelve indices: nearly always duplicates
const rowIndices: readonly Shape[] = [["S"], ["B", "S"], [12], [], ["B", 2, "S"]];

const rowCases = rowIndices.flatMap((shape): OperatorCase[] => [
  {
    operator: "takeRows",
    about: `by [${shape}]`,
    trial: () => ({
      inputs: [floats(3, 4), wholes(3, ...shape)],
      build: (table, index) => takeRows(table, index),
      reference: (table, index) =>
        fill([...index.shape, 4], (place) => at(table, [at(index, place.slice(0, -1)), place.at(-1)!])),
    }),
  },
  {
    operator: "addRows",
    about: `at [${shape}]`,
    trial: () => ({
      inputs: [floats(3, 4), wholes(3, ...shape), floats(...shape, 4)],
      build: (table, index, rows) => addRows(table, index, rows),
      reference: (table, index, rows) =>
        addedAt(table, rows, (place) => [at(index, place.slice(0, -1)), place.at(-1)!]),
    }),
  },
]);

// a row of five and up to eight indices into it
const places: readonly (readonly [Shape, number])[] = [
  [[], 8],
  [["B"], 1],
  [["B"], 8],
  [["B", "S"], 3],
];

const placeCases = places.flatMap(([rows, count]): OperatorCase[] => [
  {
    operator: "pick",
    about: `${count} of each of [${rows}]`,
    trial: () => ({
      inputs: [floats(...rows, 5), wholes(5, ...rows, count)],
      build: (x, index) => pick(x, index),
      reference: (x, index) => fill(index.shape, (place) => at(x, [...place.slice(0, -1), at(index, place)])),
    }),
  },
  {
    operator: "placeAdd",
    about: `${count} into each of [${rows}]`,
    trial: () => ({
      inputs: [floats(...rows, 5), wholes(5, ...rows, count), floats(...rows, count)],
      build: (x, index, updates) => placeAdd(x, index, updates),
      reference: (x, index, updates) => addedAt(x, updates, (place) => [...place.slice(0, -1), at(index, place)]),
    }),
  },
]);

const topCases = [["B"], ["B", "S"], []].map(
  (rows): OperatorCase => ({
    operator: "top",
    about: `of [${rows}]`,
    hasNoDerivative: true,
    trial: () => ({
      inputs: [floats(...rows, 6), floats("T")],
      build(x, like) {
        const { values, index } = top(x, like);
        return [values, index];
      },
      reference(x, like) {
        const order = (row: number[]) =>
          row
            .map((_, i) => i)
            .sort((a, b) => row[b] - row[a])
            .slice(0, like.shape[0]);
        return [mapRows(x, (row) => order(row).map((i) => row[i])), mapRows(x, order)];
      },
    }),
  }),
);

/** Whole numbers that are given. */
function given(values: readonly number[], ...shape: Shape): CaseInput {
  let next = 0;
  return { dtype: "int64", shape, draw: () => values[next++ % values.length] };
}

/** Rows of random lengths up to 4 in 3 rows of 4 places: which row is at each place, and back. */
function drawPlaces(random: Random) {
  const lengths = [1, 2, 3].map(() => random.integer(1, 4));
  const back = lengths.flatMap((length, b) => Array.from({ length }, (_, s) => 4 * b + s));
  const places = Array.from({ length: 12 }, (_, place) => {
    const row = back.indexOf(place);
    return row < 0 ? back.length : row;
  });
  return { count: back.length, tables: [given(places, 3, 4), given(back, back.length)] };
}

const paddingCases: readonly OperatorCase[] = [
  {
    operator: "padRows",
    about: "rows of different lengths side by side",
    trial(random) {
      const { count, tables } = drawPlaces(random);
      return {
        inputs: [floats(count, 2), ...tables],
        build: (x, places, back) => padRows(x, places, back),
        reference: (x, places) =>
          fill([3, 4, 2], ([b, s, d]) => {
            const row = at(places, [b, s]);
            return row === count ? 0 : at(x, [row, d]);
          }),
      };
    },
  },
  {
    operator: "unpadRows",
    about: "rows of different lengths one behind the other",
    trial(random) {
      const { count, tables } = drawPlaces(random);
      return {
        inputs: [floats(3, 4, 2), ...tables],
        build: (x, places, back) => unpadRows(x, places, back),
        reference: (x, _, back) =>
          fill([count, 2], ([row, d]) => {
            const place = at(back, [row]);
            return at(x, [Math.floor(place / 4), place % 4, d]);
          }),
      };
    },
  },
];

export const rowsCases: readonly OperatorCase[] = [...rowCases, ...placeCases, ...topCases, ...paddingCases];
