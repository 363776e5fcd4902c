import { errorText, LudusError } from "../../errors.ts";
import { defaultSandbox } from "./default-sandbox.ts";
import type { Box, BoxSpec, Sandbox } from "./sandbox.ts";

/**
 * The one box of an episode: opened by the first call that asks for it, closed with the episode. An episode that asks for
 * none costs nothing.
 */
export class EpisodeBox {
  readonly #sandbox: Sandbox | undefined;
  readonly #closing = new AbortController();
  #opening: Promise<Box> | undefined;

  /** In `bubblewrapSandbox()` where none is given. */
  constructor(sandbox?: Sandbox) {
    this.#sandbox = sandbox;
  }

  /** Whether a box was ever asked for, and so has to be closed. */
  get isUsed(): boolean {
    return this.#opening !== undefined;
  }

  /** `spec` is that of the first call; a later one gets the same box, whatever it asks for. */
  async open(spec: BoxSpec = {}): Promise<Box> {
    if (this.#closing.signal.aborted) {
      throw new LudusError("episode-ended", { got: "a call of `box()`", expected: "an episode that goes on" });
    }
    this.#opening ??= this.#open(spec);
    return await this.#opening;
  }

  async #open(spec: BoxSpec): Promise<Box> {
    const sandbox = this.#sandbox ?? defaultSandbox();
    try {
      return await sandbox.open(spec, this.#closing.signal);
    } catch (cause) {
      this.#opening = undefined; // so that the next call tries again
      if (cause instanceof LudusError) throw cause;
      throw new LudusError("box-not-opened", {
        got: errorText(cause),
        expected: `a box of sandbox "${sandbox.name}"`,
        cause,
      });
    }
  }

  /** Cancels opening and running commands. A box that opens all the same is closed then. */
  async close(): Promise<void> {
    this.#closing.abort();
    const box = await this.#opening?.catch(() => undefined);
    await box?.close();
  }
}
