import { Worker } from "node:worker_threads";
import { entryUrl } from "./entry-url.ts";
import { toErrorData } from "./error-data.ts";
import { type Isolate, type IsolateEnd, type IsolateEvents, type IsolateSetup, isolateMessage } from "./isolate.ts";

/**
 * A thread of this process. Ends busy loops, hanging promises and heaps that grow in small steps. It cannot end a blocking
 * native call; V8 aborts this whole process when one allocation jumps over the heap limit; buffers are outside the limit;
 * and what is written to file descriptors 1 and 2 directly is not captured. For code that may do so, take a process.
 */
export function startThread(setup: IsolateSetup, events: IsolateEvents): Isolate {
  const worker = new Worker(entryUrl("isolate-entry"), {
    workerData: setup,
    env: { ...setup.env },
    // also keeps out the flags of this program, which can keep the thread from starting
    execArgv: ["--no-warnings"],
    // not to be printed here, nor read: what is printed comes as messages, and a reader would keep this program alive
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: setup.limits.heapMb },
  });
  let failure: IsolateEnd | undefined;
  worker.on("message", (message: unknown) => {
    const read = isolateMessage.safeParse(message);
    if (read.success) events.message(read.data);
  });
  worker.on("error", (error: Error) => {
    const isMemory = "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
    failure = isMemory ? { kind: "out-of-memory" } : { kind: "threw", ...toErrorData(error) };
  });
  worker.once("exit", (code) => events.ended(failure ?? { kind: "exited", code }));
  worker.unref();
  return {
    send: (call) => worker.postMessage(call),
    kill: () => void worker.terminate(),
  };
}
