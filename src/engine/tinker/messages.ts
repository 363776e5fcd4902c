import { z } from "zod";
import { LudusError } from "../../errors.ts";
import type { TokenRow, Tokens } from "../engine.ts";

// Axes: `T` tokens of a row. A datum has one position less than its row: position i is about choosing the row's token i + 1.

/** A row as the protocol has it: what goes in, what is to be predicted at each position, and numbers of the loss. */
export function datum(tokens: Tokens, numbers: Readonly<Record<string, readonly number[] | Float32Array>>): object {
  const all = Array.from(tokens);
  const inputs = Object.entries(numbers).map(([name, values]) => [name, tensor("float32", Array.from(values))]);
  return {
    model_input: { chunks: [{ type: "encoded_text", tokens: all.slice(0, -1) }] },
    loss_fn_inputs: { target_tokens: tensor("int64", all.slice(1)), ...Object.fromEntries(inputs) },
  };
}

function tensor(dtype: "int64" | "float32", data: readonly number[]): object {
  return { data, dtype, shape: [data.length] };
}

/**
 * What to send so that the gradient is that of `sum of derivative * log-probability` over all rows.
 *
 * - Tinker: `cross_entropy` is `sum of -weight * log-probability`, so weights are the derivatives with the other sign.
 * - SkyRL tx 0.3: each row's loss is divided by the sum of its weights, which with both signs in it can be anything, and the gradient by
 *   the number of rows. `importance_sampling`, at the log-probabilities that the policy has now, has the derivative `-advantage`; its
 *   weights are all 1, so both divisors are known and multiplied in.
 */
export function gradientData(rows: readonly PendingRow[], { server, count }: GradientOf): LossInput {
  if (server === "tinker") {
    const data = rows.map(({ tokens, derivatives_T }) =>
      datum(tokens, { weights: derivatives_T.subarray(1).map((derivative) => -derivative) }),
    );
    return { data, loss_fn: "cross_entropy" };
  }
  const data = rows.map(({ tokens, derivatives_T, logprobs_T }) => {
    const divisor = (tokens.length - 1) * count;
    return datum(tokens, {
      weights: new Float32Array(tokens.length - 1).fill(1),
      advantages: derivatives_T.subarray(1).map((derivative) => -derivative * divisor),
      logprobs: logprobs_T.subarray(1),
    });
  });
  return { data, loss_fn: "importance_sampling" };
}

/** Which server, and how many rows there are until the next step, in all requests together. */
export interface GradientOf {
  readonly server: TinkerServer;
  readonly count: number;
}

/** Servers differ in how they reduce a loss, and in where the weights of a sampler are. */
export type TinkerServer = "tinker" | "skyrl-tx";

export interface LossInput {
  readonly data: readonly object[];
  readonly loss_fn: "cross_entropy" | "importance_sampling";
}

/** A row with what the next step is to learn from it. */
export interface PendingRow {
  readonly tokens: Tokens;
  /** 0 where the mask is 0. */
  readonly derivatives_T: Float32Array;
  /** As they are now, wherever there is a derivative. */
  readonly logprobs_T: Float32Array;
}

const Numbers = z.looseObject({ data: z.array(z.number().nullable()) });

/** What a pass over rows returns, forward or backward. */
export const PassResult = z.looseObject({ loss_fn_outputs: z.array(z.looseObject({ logprobs: Numbers })) });

/** Log-probabilities of all positions of a row; the first is 0. */
export function logprobsOf(result: z.output<typeof PassResult>, rows: readonly TokenRow[]): Float32Array[] {
  if (result.loss_fn_outputs.length !== rows.length) {
    throw badLength(`${result.loss_fn_outputs.length} rows`, `${rows.length}`);
  }
  return result.loss_fn_outputs.map(({ logprobs: { data } }, b) => {
    const { length } = rows[b].tokens;
    if (data.length !== length - 1) throw badLength(`${data.length} log-probabilities of row ${b}`, `${length - 1}`);
    // what is not a finite number travels as null
    return Float32Array.from([0, ...data.map((value) => value ?? Number.NaN)]);
  });
}

function badLength(got: string, expected: string): LudusError {
  return new LudusError("server-refused", { got: `${got} from the server`, expected });
}

export const SampleResult = z.looseObject({
  sequences: z.tuple([
    z.looseObject({
      stop_reason: z.string(),
      tokens: z.array(z.number().int()),
      logprobs: z.array(z.number()).nullish(),
    }),
  ]),
});

export const SavedPath = z.looseObject({ path: z.string() });
export const SamplerSaved = z.looseObject({ sampling_session_id: z.string() });
export const Created = z.looseObject({ session_id: z.string() });
export const ModelCreated = z.looseObject({ model_id: z.string(), request_id: z.string().optional() });
export const Anything = z.unknown();
export const Capabilities = z.looseObject({
  supported_models: z.array(
    z.looseObject({ model_name: z.string().nullish(), max_context_length: z.number().nullish() }),
  ),
});
