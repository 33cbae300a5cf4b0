// JSON over several lines, each value as it was written: parsed and written again, large numbers would change.
const PIECE = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

export function indented(text) {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let depth = 0;
  let before = "";
  let lines = "";
  for (const [piece] of text.matchAll(PIECE)) {
    const closes = piece === "}" || piece === "]";
    const opened = before === "{" || before === "[";
    if (closes) depth -= 1;
    // not between the two of an empty pair
    if (before === "," || opened !== closes) lines += `\n${"  ".repeat(depth)}`;
    lines += piece === ":" ? ": " : piece;
    if (piece === "{" || piece === "[") depth += 1;
    before = piece;
  }
  return lines;
}
