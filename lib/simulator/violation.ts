/** Something that is never to be true was. `rule` is the same for the same fault, whatever the numbers are. */
export class Violation extends Error {
  override readonly name = "Violation";
  constructor(
    readonly rule: string,
    detail: string,
  ) {
    super(`${rule}: ${detail}`);
  }
}

export function check(isKept: boolean, rule: string, detail: () => string): void {
  if (!isKept) throw new Violation(rule, detail());
}
