import { errorText } from "../errors.ts";
import type { World } from "../rollout/world.ts";

/** What a run's attempts shared is let go. That it fails or hangs is told, and neither costs the run nor hides why it ended. */
export async function releaseWorld<Data>(
  world: World<Data>,
  tell: (message: string) => void = () => {},
): Promise<void> {
  if (world.release === undefined) return;
  const { envMs } = world.limits;
  const late = Promise.withResolvers<string>();
  const timer = setTimeout(() => late.resolve(`it took longer than limits.envMs, ${envMs} ms`), envMs);
  try {
    const released = Promise.resolve(world.release()).then(() => undefined);
    const problem = await Promise.race([released, late.promise]);
    if (problem !== undefined) tell(notReleased(world.name, problem));
    released.catch(() => {});
  } catch (error) {
    tell(notReleased(world.name, errorText(error)));
  } finally {
    clearTimeout(timer);
  }
}

function notReleased(name: string, why: string): string {
  return `release() of ${name} failed: ${why}`;
}
