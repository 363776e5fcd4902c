import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export interface FakeHubOptions {
  /** Files of the one model, by name. */
  files: Readonly<Record<string, Buffer>>;
  /** Files above so many bytes are large ones, with a SHA-256. */
  largeFrom?: number;
  token?: string;
  /** Ends connections after so many bytes of a file; called for each download, undefined for the whole. */
  breakAfter?: (file: string, count: number) => number | undefined;
  /** What is sent in place of a file. */
  sent?: (file: string, content: Buffer) => Buffer;
  /** Sends the whole file whatever range is asked for. */
  ignoreRanges?: boolean;
}

export interface FakeHub {
  readonly endpoint: string;
  readonly commit: string;
  /** `file` or `file from <byte>`, in order. */
  readonly downloads: string[];
  close(): Promise<void>;
}

export const fakeModelName = "acme/tiny-chat";

/** A server on loopback that speaks the hub's API for one model, large files through a redirect as the hub's own are. */
export async function startFakeHub(options: FakeHubOptions): Promise<FakeHub> {
  const { files, largeFrom = 1_000 } = options;
  const commit = createHash("sha1").update(Object.keys(files).join()).digest("hex");
  const downloads: string[] = [];
  const siblings = Object.entries(files).map(([rfilename, content]) => {
    const blobId = createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");
    const sha256 = createHash("sha256").update(content).digest("hex");
    const lfs = { sha256, size: content.length, pointerSize: 130 };
    return { rfilename, size: content.length, blobId, ...(content.length < largeFrom ? {} : { lfs }) };
  });
  const send = (file: string, request: IncomingMessage, response: ServerResponse) => {
    const content = options.sent?.(file, files[file]) ?? files[file];
    const asked = options.ignoreRanges ? undefined : /^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1];
    const start = Number(asked ?? 0);
    downloads.push(asked === undefined ? file : `${file} from ${start}`);
    const count = downloads.filter((name) => name.split(" ")[0] === file).length - 1;
    const end = options.breakAfter?.(file, count);
    response.writeHead(asked === undefined ? 200 : 206, { "content-length": content.length - start });
    if (request.method === "HEAD") return response.end();
    if (end === undefined) return response.end(content.subarray(start));
    // time for what was sent to be read: a client drops what it holds when the connection breaks
    response.write(content.subarray(start, Math.max(start, end)), () => setTimeout(() => response.destroy(), 300));
    return response;
  };
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "", "http://hub");
    const isSigned = options.token === undefined || request.headers.authorization === `Bearer ${options.token}`;
    if (pathname.startsWith("/cdn/")) {
      const name = decodeURIComponent(pathname.slice(5));
      const large = siblings.find(({ rfilename }) => rfilename === name);
      response.setHeader("x-repo-commit", commit);
      response.setHeader("etag", `"${large?.lfs?.sha256}"`);
      return send(name, request, response);
    }
    if (!isSigned) return response.writeHead(401).end();
    if (pathname.startsWith(`/api/models/${fakeModelName}`)) {
      const tree = siblings.map(({ rfilename: path, size, blobId: oid, lfs }) => {
        return { type: "file", path, size, oid, ...(lfs === undefined ? {} : { lfs: { ...lfs, oid: lfs.sha256 } }) };
      });
      const body = JSON.stringify(pathname.includes("/tree/") ? tree : { id: fakeModelName, sha: commit, siblings });
      return response.writeHead(200, { "content-type": "application/json" }).end(body);
    }
    const file = new RegExp(`^/${fakeModelName}/resolve/\\w+/(.+)$`).exec(pathname)?.[1];
    if (file === undefined || files[file] === undefined) return response.writeHead(404).end();
    const { size, blobId, lfs } = siblings.find(({ rfilename }) => rfilename === file)!;
    response.setHeader("x-repo-commit", commit);
    response.setHeader("etag", `"${lfs?.sha256 ?? blobId}"`);
    if (lfs === undefined) return send(file, request, response);
    const headers = {
      location: `http://${request.headers.host}/cdn/${file}`,
      "x-linked-etag": `"${lfs.sha256}"`,
      "x-linked-size": size,
    };
    return response.writeHead(302, headers).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    endpoint: `http://127.0.0.1:${port}`,
    commit,
    downloads,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
