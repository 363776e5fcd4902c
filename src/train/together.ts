/** Waits for all, so that nothing is under way any more when the first failure is thrown. */
export async function together<Results extends readonly unknown[]>(
  works: {
    readonly [Index in keyof Results]: Promise<Results[Index]> | Results[Index];
  },
): Promise<Results> {
  await Promise.allSettled(works);
  return (await Promise.all(works)) as unknown as Results;
}
