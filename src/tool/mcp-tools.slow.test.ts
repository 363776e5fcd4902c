import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { fakeContext } from "./fake-context.ts";
import { mcpTools } from "./mcp-tools.ts";

// asking takes two times two seconds
test("a server that ignores every request to end is killed", async () => {
  const path = fileURLToPath(new URL("./fixtures/odd-mcp-server.ts", import.meta.url));
  const { tools, close } = await mcpTools({ command: process.execPath, args: [path, "stubborn"] });
  const pid = Number(await tools.pid.run({}, fakeContext(undefined)));
  await close();
  expect(() => process.kill(pid, 0)).toThrow("ESRCH");
});
