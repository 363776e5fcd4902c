/** Milliseconds since 1970. Code that needs the time takes a clock as an option; this is the default. */
export function wallClock(): number {
  return performance.timeOrigin + performance.now();
}
