/** What most attempts answered; of answers that are equally frequent the one that came first. */
export function majorityAnswer<Answer>(answers: readonly Answer[]): Answer | undefined {
  const counts = new Map<Answer, number>();
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  let best: Answer | undefined;
  for (const [answer, count] of counts) if (best === undefined || count > counts.get(best)!) best = answer;
  return best;
}
