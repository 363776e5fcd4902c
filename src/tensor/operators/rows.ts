import type { Operator, Value } from "../graph.ts";
import { product, TensorError } from "../shape.ts";
import { reshape, zerosLike } from "./layout.ts";

const takeRowsOperator: Operator = {
  name: "takeRows",
  infer([table, index]) {
    if (table.shape.length !== 2 || table.dtype !== "float32" || index.dtype !== "int64")
      throw new TensorError("takeRows", [table.shape, index.shape], "takes a float32 matrix and int64 row numbers");
    return [{ dtype: "float32", shape: [...index.shape, table.shape[1]] }];
  },
  derivative: (node, [g]) => [addRows(zerosLike(node.inputs[0]), node.inputs[1], g!), undefined],
  emit: (node, emitter) =>
    emitter.node("Gather", node.inputs.map(emitter.name), node.outputs.map(emitter.name), { axis: { int: 0 } }),
};

const addRowsOperator: Operator = {
  name: "addRows",
  infer([table, index, rows]) {
    const [count] = index.shape;
    if (
      table.dtype !== "float32" ||
      index.dtype !== "int64" ||
      index.shape.length !== 1 ||
      rows.shape.length !== 2 ||
      rows.shape[0] !== count ||
      rows.shape[1] !== table.shape[1]
    ) {
      throw new TensorError(
        "addRows",
        [table.shape, index.shape, rows.shape],
        "needs a float32 matrix, N int64 row numbers and N rows of its width",
      );
    }
    return [{ dtype: "float32", shape: table.shape }];
  },
  derivative: (node, [g]) => [g, undefined, takeRows(g!, node.inputs[1])],
  emit(node, emitter) {
    const [table, index, rows] = node.inputs as [Value, Value, Value];
    const [column, shape, full] = [emitter.fresh(), emitter.fresh(), emitter.fresh()];
    emitter.node("Unsqueeze", [emitter.name(index), emitter.integers([1])], [column]);
    emitter.node("Shape", [emitter.name(rows)], [shape]);
    emitter.node("Expand", [column, shape], [full]);
    emitter.node("ScatterElements", [emitter.name(table), full, emitter.name(rows)], [emitter.name(node.outputs[0])], {
      axis: { int: 0 },
      reduction: { string: "add" },
    });
  },
};

/** Rows of a matrix by number: embedding, and the positions a head is wanted at. */
export function takeRows(table: Value, index: Value): Value {
  return table.graph.apply(takeRowsOperator, [table, index])[0];
}

/** A matrix with rows added at row numbers; equal numbers add up. */
export function addRows(table: Value, index: Value, rows: Value): Value {
  const count = product(index.shape);
  return table.graph.apply(addRowsOperator, [
    table,
    reshape(index, [count]),
    reshape(rows, [count, table.shape[1]]),
  ])[0];
}
