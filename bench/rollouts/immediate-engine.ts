import type { Sample, SampleRequest } from "../../src/engine/engine.ts";
import type { Renderer } from "../../src/policy/renderer.ts";
import type { Policy } from "../../src/rollout/rollout.ts";

/** Called with each request: how many turns the rollout has taken, and the text to say. */
export type Script = (request: SampleRequest) => string;

/**
 * An engine that costs nothing: it replies in the same tick of the event loop, with samples that were made once for each text. So
 * what is measured is the framework.
 */
export function immediateEngine(renderer: Renderer, script: Script): Policy {
  const made = new Map<string, Promise<Sample>>();
  const make = (text: string): Promise<Sample> => {
    const tokens = renderer.say(text);
    const sample: Sample = {
      tokens,
      logprobs: new Float32Array(tokens.length).fill(-0.5),
      versions: new Int32Array(tokens.length),
      stop: "stop-token",
    };
    const answer = Promise.resolve(sample);
    made.set(text, answer);
    return answer;
  };
  const released = Promise.resolve();
  return {
    renderer,
    engine: {
      info: {
        name: "immediate",
        device: "none",
        vocabularySize: 259,
        contextLength: 1 << 16,
        parameters: 0,
        hasValues: false,
        policyVersion: 0,
        weights: ["policy"],
      },
      sample(request) {
        const text = script(request);
        return made.get(text) ?? make(text);
      },
      release: () => released,
    },
  };
}
