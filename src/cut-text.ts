/**
 * Text of at most `maxChars` UTF-16 units, beginning and end kept, and in between a line that says how much is missing. The
 * line is kept whole even where `maxChars` is less than its length.
 */
export function cutText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  // the count can only get shorter than this
  const room = Math.max(0, maxChars - notice(text.length).length);
  const headRoom = Math.ceil((room * 2) / 3);
  const headEnd = backToCharacter(text, headRoom);
  const tailStart = onToCharacter(text, text.length - (room - headRoom));
  return text.slice(0, headEnd) + notice(tailStart - headEnd) + text.slice(tailStart);
}

const notice = (chars: number) => `\n[${chars} characters cut]\n`;

const splitsCharacter = (text: string, at: number) =>
  /[\uD800-\uDBFF]/.test(text.charAt(at - 1)) && /[\uDC00-\uDFFF]/.test(text.charAt(at));
const backToCharacter = (text: string, at: number) => (splitsCharacter(text, at) ? at - 1 : at);
const onToCharacter = (text: string, at: number) => (splitsCharacter(text, at) ? at + 1 : at);
