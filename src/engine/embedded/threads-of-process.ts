import { availableParallelism } from "node:os";

/** How many this process may use: `LUDUS_THREADS`, with which `ludus sweep` and `ludus recipe run --jobs` divide the cores, or all cores. */
export function threadsOfProcess(): number {
  const wanted = Number(process.env.LUDUS_THREADS);
  return Number.isInteger(wanted) && wanted > 0 ? wanted : availableParallelism();
}
