import { z } from "zod";
import { boundedText } from "../../bounded-response.ts";
import { bounds } from "../../bounds.ts";
import { errorText, LudusError } from "../../errors.ts";

/** Where models are, and who asks. */
export interface HubAccess {
  /** `https://huggingface.co` by default, or `HF_ENDPOINT`. */
  readonly endpoint: string;
  /** For private and gated models; `HF_TOKEN` by default. */
  readonly token: string | undefined;
}

/** A model at one commit. */
export interface HubModel {
  readonly name: string;
  readonly commit: string;
  readonly files: readonly HubFile[];
}

export interface HubFile {
  readonly name: string;
  readonly size: number;
  /** Of the content, as the hub's own tools name it in their cache; large files have a SHA-256, others git's SHA-1. */
  readonly hash: string;
}

const Answer = z.object({
  sha: z.string().regex(/^[0-9a-f]{40}$/),
  siblings: z.array(
    z.object({
      rfilename: z.string(),
      size: z.int().nonnegative().nullish(),
      blobId: z.string().nullish(),
      lfs: z.object({ sha256: z.string(), size: z.int().nonnegative() }).nullish(),
    }),
  ),
});

const weightFile = /^(model(-\d+-of-\d+)?\.safetensors|model\.safetensors\.index\.json)$/;
const otherFiles = [
  "config.json",
  "generation_config.json",
  "tokenizer.json",
  "tokenizer_config.json",
  "special_tokens_map.json",
  "chat_template.jinja",
];

/** What the hub says of a model: the files that are of use here, with their hashes. */
export async function askHub(name: string, revision: string, access: HubAccess): Promise<HubModel> {
  const path = `/api/models/${name}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const response = await hubFetch(path, name, access);
  const read = await boundedText(response, bounds.hubAnswerChars);
  const text = read ?? `more than ${bounds.hubAnswerChars} bytes`;
  const answer = read === undefined ? undefined : Answer.safeParse(parsed(read)).data;
  if (answer === undefined) {
    throw new LudusError("hub-unreadable", {
      got: `an answer about ${name}: ${JSON.stringify(text.slice(0, 100))}`,
      expected: "the hub's description of a model",
      hint: `Is ${access.endpoint} a server of the Hugging Face hub? HF_ENDPOINT names it.`,
    });
  }
  const files = answer.siblings
    .filter(({ rfilename }) => otherFiles.includes(rfilename) || weightFile.test(rfilename))
    .map(({ rfilename, size, blobId, lfs }) => {
      return { name: rfilename, size: lfs?.size ?? size ?? 0, hash: lfs?.sha256 ?? blobId ?? "" };
    });
  checkFiles(name, files);
  return { name, commit: answer.sha, files };
}

function checkFiles(name: string, files: readonly HubFile[]): void {
  const has = (wanted: (file: string) => boolean) => files.some((file) => wanted(file.name));
  const missing = [
    ...["config.json", "tokenizer.json"].filter((file) => !has((each) => each === file)),
    ...(has((file) => file.endsWith(".safetensors")) ? [] : ["model.safetensors"]),
  ];
  if (missing.length > 0) {
    throw new LudusError("hub-files-missing", {
      got: `${name} without ${missing.join(" and ")}`,
      expected: "a language model with safetensors weights and a fast tokenizer",
      hint: "In Python, save_pretrained(folder) of model and tokenizer writes both; give that folder instead.",
    });
  }
  const nameless = files.find(({ hash }) => !/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(hash));
  if (nameless === undefined) return;
  throw new LudusError("hub-unreadable", {
    got: `${nameless.name} of ${name} with hash "${nameless.hash.slice(0, 80)}"`,
    expected: "a hash to check the download by",
  });
}

/** One request, with an error that says what to do where it fails. */
export async function hubFetch(
  path: string,
  name: string,
  { endpoint, token }: HubAccess,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const url = `${endpoint.replace(/\/$/, "")}${path}`;
  const response = await fetch(url, { headers: { ...headers, ...authorization } }).catch((cause: unknown) => {
    const why = cause instanceof Error && cause.cause !== undefined ? errorText(cause.cause) : errorText(cause);
    throw new LudusError("hub-unreachable", {
      got: `${why} at ${endpoint}`,
      expected: `the Hugging Face hub, to read ${name}`,
      hint: "Check the network and HF_ENDPOINT, or give a folder that is here already.",
      cause,
    });
  });
  if (response.ok) return response;
  await response.body?.cancel();
  throw refused(response.status, name, token);
}

function refused(status: number, name: string, token: string | undefined): LudusError {
  if (status === 401 || status === 403) {
    return new LudusError("hub-denied", {
      got: `status ${status} for ${name} ${token === undefined ? "without a token" : "with this token"}`,
      expected: "a model that may be read",
      hint: "It may be misspelt, private, or gated: accept its licence on the hub and set HF_TOKEN.",
    });
  }
  if (status === 404) {
    return new LudusError("no-such-hub-model", {
      got: `"${name}"`,
      expected: "a model of the hub such as Qwen/Qwen2.5-0.5B-Instruct, with this revision, or a folder that exists",
    });
  }
  return new LudusError("hub-unreachable", {
    got: `status ${status} for ${name}`,
    expected: "an answer",
    hint: "Try again later.",
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
