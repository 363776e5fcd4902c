import wasm from "onnxruntime-web/ort-wasm-simd-threaded.wasm?url";
import { env, InferenceSession, Tensor } from "onnxruntime-web/wasm";

interface Shape {
  readonly num_hidden_layers: number;
  readonly num_key_value_heads: number;
  readonly head_dim: number;
  readonly vocab_size: number;
  readonly max_position_embeddings: number;
}

type Cache = Readonly<Record<string, Tensor>>;

/** A model as `ludus export --format onnx` writes it. What it has read already it does not read again. */
export class OnnxModel {
  readonly shape: Shape;
  readonly #session: InferenceSession;
  #read: readonly number[] = [];
  #cache: Cache = {};

  private constructor(shape: Shape, session: InferenceSession) {
    this.shape = shape;
    this.#session = session;
  }

  static async load(folder: string): Promise<OnnxModel> {
    env.wasm.wasmPaths = { wasm };
    // more need a page that is isolated from all others
    env.wasm.numThreads = 1;
    const shape: Shape = await (await fetch(`${folder}/config.json`)).json();
    const session = await InferenceSession.create(`${folder}/onnx/model.onnx`, { executionProviders: ["wasm"] });
    return new OnnxModel(shape, session);
  }

  /** Logits of the token after these. */
  async next(tokens: readonly number[]): Promise<Float32Array> {
    const isContinued = this.#read.length < tokens.length && this.#read.every((token, t) => token === tokens[t]);
    if (!isContinued) this.#read = [];
    const past = this.#read.length;
    const fresh = tokens.slice(past);
    const { logits, ...present } = await this.#session.run({
      input_ids: integers(fresh),
      attention_mask: integers(tokens.map(() => 1)),
      position_ids: integers(fresh.map((_, t) => past + t)),
      ...(past === 0 ? this.#emptyCache() : this.#cache),
    });
    this.#read = [...tokens];
    this.#cache = Object.fromEntries(
      Object.entries(present).map(([name, tensor]) => [name.replace("present", "past_key_values"), tensor]),
    );
    const all = logits!.data as Float32Array;
    return all.slice(all.length - this.shape.vocab_size);
  }

  #emptyCache(): Cache {
    const { num_hidden_layers: layers, num_key_value_heads: heads, head_dim: width } = this.shape;
    const empty = new Tensor("float32", new Float32Array(0), [1, heads, 0, width]);
    const names = Array.from({ length: layers }, (_, i) => [`past_key_values.${i}.key`, `past_key_values.${i}.value`]);
    return Object.fromEntries(names.flat().map((name) => [name, empty]));
  }
}

function integers(values: readonly number[]): Tensor {
  return new Tensor("int64", BigInt64Array.from(values, BigInt), [1, values.length]);
}
