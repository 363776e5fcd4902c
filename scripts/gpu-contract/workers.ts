import { randomUUID } from "node:crypto";
import type { Engine } from "../../src/engine/engine.ts";
import { findPython } from "../../src/engine/torch/find-python.ts";
import { type TorchOptions, torch } from "../../src/engine/torch/torch.ts";
import { WorkerProcess } from "../../src/engine/torch/worker-process.ts";

interface Worker {
  readonly process: WorkerProcess;
  readonly connect: string;
  readonly token: string;
}

/** Engines on workers that are used again: starting one takes many times as long as a test. */
export class Workers {
  readonly #log: (line: string) => void;
  readonly #idle: Worker[] = [];

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  async open(options: TorchOptions): Promise<Engine> {
    const worker = this.#idle.pop() ?? (await this.#start());
    const { connect, token } = worker;
    const engine = await torch({ ...options, connect, token });
    const close = engine.close.bind(engine);
    engine.close = async () => {
      await close();
      this.#idle.push(worker);
    };
    return engine;
  }

  async #start(): Promise<Worker> {
    const token = randomUUID();
    const process = new WorkerProcess({ python: findPython(undefined, false), token, processes: 1, log: this.#log });
    return { process, connect: `127.0.0.1:${await process.port()}`, token };
  }

  async close(): Promise<void> {
    await Promise.all(this.#idle.map(({ process }) => process.close()));
  }
}
