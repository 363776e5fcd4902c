import { closeSync, openSync, readSync } from "node:fs";
import { metric } from "../../monitor/index.ts";
import { runEventFromJson } from "../../schema/index.ts";

const chunkBytes = 1 << 20;

/** How far a run in another process is, from the events that it appends to a file. */
export class EventFollower {
  readonly #file: string;
  #position = 0;
  #rest = "";
  #phase = "starting";
  #steps = 0;
  #done = 0;
  #success: number | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  /** `grpo 34/100, success 0.41` */
  text(): string {
    this.#read();
    const success = this.#success === undefined ? "" : `, success ${this.#success.toFixed(2)}`;
    return this.#steps === 0 ? this.#phase : `${this.#phase} ${this.#done}/${this.#steps}${success}`;
  }

  #read(): void {
    let file: number;
    try {
      file = openSync(this.#file, "r");
    } catch {
      return; // the run has not begun
    }
    try {
      const chunk = new Uint8Array(chunkBytes);
      const read = readSync(file, chunk, 0, chunkBytes, this.#position);
      this.#position += read;
      const lines = (this.#rest + Buffer.from(chunk.subarray(0, read)).toString("utf8")).split("\n");
      this.#rest = lines.pop() ?? "";
      for (const line of lines) this.#add(line);
    } finally {
      closeSync(file);
    }
  }

  #add(line: string): void {
    const { time: _time, ...json } = JSON.parse(line);
    const event = runEventFromJson(json);
    if (event.type === "phase-start") {
      [this.#phase, this.#steps, this.#done] = [event.phase, event.steps, event.doneSteps ?? 0];
    }
    if (event.type !== "step-end") return;
    this.#done++;
    this.#success = event.metrics[metric.success] ?? this.#success;
  }
}
