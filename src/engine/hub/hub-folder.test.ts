import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { modelFiles } from "../fake-model-files.ts";
import { type HubOptions, hubFolder } from "./hub-folder.ts";
import { type FakeHub, type FakeHubOptions, fakeModelName, startFakeHub } from "./testing/fake-hub.ts";

let files: Record<string, Buffer>;
let cache: string;
let hub: FakeHub | undefined;
const lines: string[] = [];

beforeAll(async () => {
  files = await modelFiles();
});
beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), "ludus-hub-"));
  lines.length = 0;
});
afterEach(async () => {
  await hub?.close();
  rmSync(cache, { recursive: true });
});

const home = () => join(cache, `models--${fakeModelName.replace("/", "--")}`);

async function fetchModel(options: Partial<FakeHubOptions> = {}, more: HubOptions = {}): Promise<string> {
  hub = await startFakeHub({ files, ...options });
  const log = (line: string) => void lines.push(line);
  return hubFolder(fakeModelName, { cache, endpoint: hub.endpoint, log, sleep: async () => {}, ...more });
}

const again = (more: HubOptions = {}) =>
  hubFolder(fakeModelName, {
    cache,
    endpoint: hub!.endpoint,
    log: (line) => void lines.push(line),
    sleep: async () => {},
    ...more,
  });

test("a model is downloaded whole, in the layout of the hub's own cache", async () => {
  const folder = await fetchModel();
  expect(folder).toBe(join(home(), "snapshots", hub!.commit));
  for (const name of ["config.json", "tokenizer.json", "model.safetensors"]) {
    expect(readFileSync(join(folder, name)).equals(files[name])).toBe(true);
    expect(realpathSync(join(folder, name))).toContain(`${join(home(), "blobs")}/`);
  }
  expect(readFileSync(join(home(), "refs/main"), "utf8")).toBe(hub!.commit);
  expect(lines[0]).toMatch(/^downloading acme\/tiny-chat: \d+\.\d MB$/);
});

test("what is there is not downloaded again", async () => {
  await fetchModel();
  const before = hub!.downloads.length;
  await again();
  expect(hub!.downloads).toHaveLength(before);
});

test("files of no use here are left where they are", async () => {
  const folder = await fetchModel({
    files: { ...files, "pytorch_model.bin": Buffer.alloc(10), "../evil.json": Buffer.alloc(3) },
  });
  expect(readdirSync(folder)).not.toContain("pytorch_model.bin");
  expect(existsSync(join(folder, "../evil.json"))).toBe(false);
});

test("a connection that breaks is taken up where it broke", async () => {
  const folder = await fetchModel({
    breakAfter: (file, count) => (file === "model.safetensors" && count < 2 ? 50_000 * (count + 1) : undefined),
  });
  expect(hub!.downloads.filter((name) => name.startsWith("model.safetensors"))).toEqual([
    "model.safetensors",
    "model.safetensors from 50000",
    "model.safetensors from 100000",
  ]);
  expect(readFileSync(join(folder, "model.safetensors")).equals(files["model.safetensors"])).toBe(true);
});

test("a download that was given up goes on in a later process", async () => {
  let isBroken = true;
  const breakAfter = (file: string) => (isBroken && file === "model.safetensors" ? 50_000 : undefined);
  const broken = fetchModel({ breakAfter });
  await expect(broken).rejects.toMatchObject({
    code: "hub-unreachable",
    message: expect.stringContaining("incomplete"),
  });
  isBroken = false;
  await again();
  expect(hub!.downloads.at(-1)).toBe("model.safetensors from 50000");
});

test("a server without ranges begins anew", async () => {
  const folder = await fetchModel({ ignoreRanges: true, breakAfter: (_, count) => (count === 0 ? 10 : undefined) });
  expect(readFileSync(join(folder, "config.json")).equals(files["config.json"])).toBe(true);
});

test("content with another hash is refused and removed", async () => {
  const spoiled = (file: string, content: Buffer) => {
    const copy = Buffer.from(content);
    if (file === "model.safetensors") copy[copy.length - 1] ^= 1;
    return copy;
  };
  await expect(fetchModel({ sent: spoiled })).rejects.toMatchObject({ code: "hub-hash-mismatch" });
  expect(readdirSync(join(home(), "blobs")).filter((name) => name.endsWith(".incomplete"))).toEqual([]);
  expect(existsSync(join(home(), "snapshots", hub!.commit, "model.safetensors"))).toBe(false);
});

test("more bytes than the hub said are not kept on being read", async () => {
  const sent = (_: string, content: Buffer) => Buffer.concat([content, content]);
  await expect(fetchModel({ sent })).rejects.toMatchObject({ code: "hub-hash-mismatch" });
});

test("a model of a family that cannot be trained is refused before its weights are downloaded", async () => {
  const other = Buffer.from(JSON.stringify({ model_type: "mamba", vocab_size: 10 }));
  await expect(fetchModel({ files: { ...files, "config.json": other } })).rejects.toThrow("mamba");
  expect(hub!.downloads).toEqual(["config.json"]);
});

test("a model without safetensors is refused at once", async () => {
  const { "model.safetensors": _, ...rest } = files;
  await expect(fetchModel({ files: { ...rest, "pytorch_model.bin": Buffer.alloc(9) } })).rejects.toMatchObject({
    code: "hub-files-missing",
  });
  expect(hub!.downloads).toEqual([]);
});

test("a token is sent, and its absence is told", async () => {
  await expect(fetchModel({ token: "secret" })).rejects.toMatchObject({
    code: "hub-denied",
    message: expect.stringContaining("HF_TOKEN"),
  });
  await again({ token: "secret" });
});

test("names that are no model say what was expected", async () => {
  await fetchModel();
  await expect(hubFolder("acme/other", { cache, endpoint: hub!.endpoint })).rejects.toMatchObject({
    code: "no-such-hub-model",
  });
  for (const name of ["./not-there", "/not/there", "nothing", "../x/y", "a/../b"]) {
    await expect(hubFolder(name, { cache })).rejects.toMatchObject({ code: "no-such-model" });
  }
  await expect(hubFolder(fakeModelName, { caches: "x" } as HubOptions)).rejects.toThrow('"cache"');
});

test("without the hub the copy in the cache is taken, and that is said", async () => {
  const folder = await fetchModel();
  await hub!.close();
  expect(await again()).toBe(folder);
  expect(lines.at(-1)).toContain("Taking the copy in the cache");
  expect(await again({ offline: true })).toBe(folder);
  rmSync(join(folder, "model.safetensors"));
  await expect(again()).rejects.toMatchObject({ code: "hub-unreachable" });
  await expect(again({ offline: true })).rejects.toMatchObject({ code: "not-in-cache" });
});

test("a cache that cannot be written is told in words", async () => {
  mkdirSync(join(cache, "file-in-the-way"), { recursive: true });
  writeFileSync(join(cache, "file"), "");
  await expect(fetchModel({}, { cache: join(cache, "file") })).rejects.toThrow(/ENOTDIR|not a directory/);
});

test("a folder is taken as it is", async () => {
  expect(await hubFolder(cache)).toBe(cache);
});
