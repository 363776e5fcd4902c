/** The numbers of a sum with their signs, parentheses resolved; undefined for anything but numbers, + - and ( ). */
export function signedTerms(text: string): readonly number[] | undefined {
  const parts = text.replaceAll(" ", "").match(/\d+|[+()-]/g) ?? [];
  if (parts.length === 0 || parts.join("") !== text.replaceAll(" ", "")) return undefined;
  const terms: number[] = [];
  const signs = [1];
  let sign = 1;
  for (const part of parts) {
    if (part === "+") sign = 1;
    else if (part === "-") sign = -1;
    else if (part === "(") {
      signs.push(signs[signs.length - 1] * sign);
      sign = 1;
    } else if (part === ")") {
      if (signs.length === 1) return undefined;
      signs.pop();
    } else terms.push(signs[signs.length - 1] * sign * Number(part));
  }
  return signs.length === 1 && terms.length > 0 ? terms : undefined;
}
