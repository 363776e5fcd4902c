import { LudusError } from "../../../errors.ts";

/** llama.cpp has what a tokenizer can be built in: one that is otherwise cannot be written. */
export function refusedTokenizer(
  got: string,
  expected: string,
  hint = "Export it as huggingface or onnx instead.",
): LudusError {
  return new LudusError("tokenizer-not-in-gguf", { got, expected, hint });
}
