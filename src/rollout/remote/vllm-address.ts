import { z } from "zod";
import { defined } from "../../defined.ts";
import type { Sample, SampleRequest } from "../../engine/engine.ts";
import { VllmServer } from "../../engine/torch/vllm-server.ts";
import { LudusError } from "../../errors.ts";
import type { SamplerAddress } from "../../queue/queue.ts";
import { SamplerGone } from "./sampler-gone.ts";

const Models = z.object({ data: z.array(z.looseObject({ id: z.string() })) });

/** What is asked for: a model of the server, and the version of its weights. */
interface Served {
  readonly model: string;
  readonly version: number;
}

/**
 * A vLLM server as an address of a job. Adapters come and go while rollouts are played: the newest is asked, and looked up again when it is
 * gone. A model without adapters has the version that the policy had when the job was offered, or a newer one: such tokens are taken
 * for older than they are, never for newer.
 */
export function vllmAddress(
  { url, key, model, processedLogprobs }: SamplerAddress & { readonly model: string },
  policyVersion: number,
) {
  const server = new VllmServer({ url, ...defined({ apiKey: key, processedLogprobs }) });
  let served: Promise<Served> | undefined;
  const look = () => {
    served ??= newest(server, model, policyVersion);
    served.catch(() => {
      served = undefined;
    });
    return served;
  };
  const sample = async (request: SampleRequest, signal?: AbortSignal): Promise<Sample> => {
    const { model: name, version } = await look();
    return await server.complete(name, version, request, signal);
  };
  return {
    async sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
      server.check(request);
      try {
        const before = served;
        try {
          return await sample(request, signal);
        } catch (error) {
          // an adapter that was unloaded meanwhile; one that was looked up just now is not looked up again
          if (before === undefined || signal?.aborted || !isRefused(error)) throw error;
          served = undefined;
          return await sample(request, signal);
        }
      } catch (cause) {
        if (signal?.aborted || !(cause instanceof LudusError)) throw cause;
        throw new SamplerGone("gone", { cause });
      }
    },
    // vLLM frees its caches itself
    release: async (_rollout: string) => {},
  };
}

function isRefused(error: unknown): boolean {
  return error instanceof LudusError && error.code === "sampler-refused";
}

async function newest(server: VllmServer, model: string, policyVersion: number): Promise<Served> {
  const { data } = await server.get("/v1/models", Models);
  const ids = data.map(({ id }) => id);
  const adapters = ids.flatMap((id) => {
    const version = id.startsWith(`${model}-`) ? Number(id.slice(model.length + 1)) : Number.NaN;
    return Number.isInteger(version) ? [{ model: id, version }] : [];
  });
  const [best] = adapters.sort((a, b) => b.version - a.version);
  if (best !== undefined) return best;
  if (ids.includes(model)) return { model, version: policyVersion };
  throw new LudusError("sampler-refused", {
    got: `a server with the models ${ids.slice(0, 20).join(", ") || "none"}`,
    expected: `"${model}", or adapters called "${model}-<version>"`,
  });
}
