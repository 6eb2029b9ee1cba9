/** Finds the directive "use node" the way a parser does: among the strings a module starts with. */

/** One blank, comment or directive at the start of the text. */
const PROLOGUE_PART =
  /^(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/|#![^\n]*|(["'])((?:(?!\1)[^\\\n])*)\1[ \t]*(?:;|(?=\r?\n|$)))/;

export function hasUseNode(source: string): boolean {
  let rest = source;
  for (;;) {
    const part = PROLOGUE_PART.exec(rest);
    if (part === null) return false;
    if (part[2] === "use node") return true;
    rest = rest.slice(part[0].length);
  }
}
