import { fileURLToPath } from "node:url";
import { entryUrl } from "./entry-url.ts";
import { type Isolate, type IsolateEnd, type IsolateEvents, type IsolateSetup, isolateMessage } from "./isolate.ts";
import { type GroupEnd, spawnGroup } from "./process-group.ts";
import { watchMemory } from "./watch-memory.ts";

/** What Node itself has in memory beside the heap, generously. */
const overheadMb = 160;

/** A Node process that leads a group of its own, killed as a whole: nothing it does to itself reaches this process. */
export function startProcess(setup: IsolateSetup, events: IsolateEvents): Isolate {
  const { heapMb } = setup.limits;
  const args = [`--max-old-space-size=${heapMb}`, "--no-warnings", fileURLToPath(entryUrl("isolate-entry"))];
  // not the environment: everyone on the machine can read arguments
  const group = spawnGroup(process.execPath, [...args, JSON.stringify({ ...setup, env: {} })], {
    env: { ...setup.env },
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    serialization: "advanced",
  });
  let outOfMemory = false;
  const onPrinted = (data: Buffer) => {
    const text = String(data);
    outOfMemory ||= text.includes("JavaScript heap out of memory");
    events.output(text);
  };
  group.child.stdout?.on("data", onPrinted);
  group.child.stderr?.on("data", onPrinted);
  group.child.on("message", (message: unknown) => {
    const read = isolateMessage.safeParse(message);
    if (read.success) afterPipes(() => events.message(read.data));
  });
  const unwatch =
    group.child.pid === undefined
      ? () => {}
      : watchMemory(group.child.pid, heapMb + overheadMb, () => {
          outOfMemory = true;
          group.kill();
        });
  void group.ended.then((end) => {
    unwatch();
    afterPipes(() => events.ended(endOf(end, outOfMemory)));
  });
  return {
    send: (call) => void group.child.send(call, () => {}),
    kill: () => group.kill(),
  };
}

/** What was printed before a message may still be in its pipe: both are read in one turn of the loop, in any order. */
function afterPipes(deliver: () => void): void {
  setImmediate(() => setImmediate(deliver));
}

function endOf(end: GroupEnd, outOfMemory: boolean): IsolateEnd {
  return outOfMemory ? { kind: "out-of-memory" } : end;
}
