import { readFileSync } from "node:fs";
import { createSecureServer, createServer, type Http2SecureServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { afterEach, describe, expect, test } from "vitest";
import { Connection, isLoopback, protocol } from "./connection.ts";
import { Engine as EngineService } from "./engine_pb.ts";

const file = (name: string) => join(import.meta.dirname, "fixtures", name);
let server: Http2Server | Http2SecureServer | undefined;
afterEach(() => server?.close());

/** A worker that only says hello. */
async function serve(spoken: number, isSecure = false): Promise<string> {
  const routes = connectNodeAdapter({
    routes: (router) => {
      router.service(EngineService, {
        hello: () => ({ protocol: spoken, workerVersion: "9.9", versions: { torch: "1" } }),
      });
    },
  });
  const pair = { key: readFileSync(file("test-only-key.pem")), cert: readFileSync(file("test-only-certificate.pem")) };
  server = isSecure ? createSecureServer(pair, routes) : createServer(routes);
  await new Promise<void>((resolve) => server!.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function hello(options: Partial<ConstructorParameters<typeof Connection>[0]>) {
  const connection = new Connection({ address: "", token: "", session: "", insecure: false, ...options });
  try {
    return await connection.hello();
  } finally {
    connection.close();
  }
}

describe("both sides must speak the same protocol", () => {
  test("the same", async () => expect(await hello({ address: await serve(protocol) })).toEqual({ torch: "1" }));

  test("an older worker is to be upgraded", async () => {
    const older = hello({ address: await serve(protocol - 1) });
    await expect(older).rejects.toThrow(/protocol-mismatch: got a worker \(9.9\).*Upgrade the worker/);
  });

  test("a newer worker asks for an upgrade of this side", async () => {
    const newer = hello({ address: await serve(protocol + 1) });
    await expect(newer).rejects.toThrow(/protocol-mismatch.*npm install/);
  });
});

describe("plain text stays on this machine", () => {
  test.each(["gpu.example:7000", "192.168.1.4:7000", "[fe80::1]:7000", "127.0.0.1.example:1"])(
    "not to %s",
    (address) => {
      expect(isLoopback(address)).toBe(false);
      expect(() => new Connection({ address, token: "", session: "", insecure: false })).toThrow("plain-text-refused");
    },
  );

  test.each(["localhost:7000", "127.0.0.1:1", "[::1]:9"])("%s is this machine", (address) => {
    expect(isLoopback(address)).toBe(true);
  });

  test("TLS with the certificate that was handed over", async () => {
    const address = await serve(protocol, true);
    const tls = { ca: file("test-only-certificate.pem") };
    expect(await hello({ address, tls })).toEqual({ torch: "1" });
    await expect(hello({ address, tls: {} })).rejects.toMatchObject({ code: "connection-lost" });
  });
});

test("nobody there: the error says where was looked", async () => {
  const address = await serve(protocol);
  await new Promise((resolve) => server!.close(resolve));
  await expect(hello({ address })).rejects.toThrow(new RegExp(`connection-lost.*${address}`));
});
