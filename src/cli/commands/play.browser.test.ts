import { Readable, Writable } from "node:stream";
import { expect, test } from "vitest";
import { runCli } from "../run-cli.ts";
import { builtinCommands } from "./index.ts";

const browser = process.env.LUDUS_BROWSER ?? "";
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47]);

/** How many pictures have come, once there are `wanted`. */
async function picturesOf(url: string, wanted: number): Promise<number> {
  const { body } = await fetch(new URL("stream", url));
  let found = 0;
  for await (const chunk of body!) {
    for (let at = 0; ; at++) {
      at = Buffer.from(chunk).indexOf(signature, at);
      if (at < 0) break;
      found++;
    }
    if (found >= wanted) break;
  }
  return found;
}

test.skipIf(browser === "")(
  "a page that is played in Chromium can be watched",
  async () => {
    let [told, said, pictures] = ["", 0, Promise.resolve(0)];
    let isWatched = () => {};
    const watched = new Promise<void>((resolve) => {
      isWatched = resolve;
    });
    const stderr = new Writable({
      write(chunk, _, done) {
        told += chunk;
        done();
      },
    });
    const lines = Readable.from(
      (async function* play() {
        for (; said < 3; said++) {
          const url = /http:\/\/127\.0\.0\.1:\d+\/\w+\//.exec(told)![0];
          if (said === 0) {
            expect(await (await fetch(url)).text()).toContain("stream");
            expect((await fetch(new URL("/", url))).status).toBe(404);
            pictures = picturesOf(url, 3).finally(isWatched);
          }
          yield "!!\n";
        }
        await watched;
      })(),
    );
    const stdout = new Writable({ write: (_chunk, _encoding, done) => done() });
    await runCli(["play", "browser", "--watch", "--task", "2"], builtinCommands, { stdout, stderr, stdin: lines });
    expect(await pictures).toBeGreaterThanOrEqual(3);
  },
  120_000,
);
