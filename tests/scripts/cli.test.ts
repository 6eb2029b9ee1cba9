import { describe, expect, test } from "vitest";
import { CliError, helpText, parseOptions } from "../../scripts/support/cli.mjs";

const OPTIONS = {
  port: { type: "integer", minimum: 1, maximum: 65_535, default: 3000, help: "a port" },
  rate: { type: "number", maximum: 10, help: "a rate" },
  wait: { type: "duration", help: "a wait" },
  url: { type: "url", default: "http://localhost:3000", help: "a url" },
  name: { type: "string", help: "a name" },
  dev: { type: "boolean", help: "a switch" },
} as const;

function fault(argv: string[]): CliError {
  try {
    parseOptions(OPTIONS, argv);
  } catch (error) {
    if (error instanceof CliError) return error;
  }
  throw new Error(`${argv.join(" ")} was accepted`);
}

describe("a command line", () => {
  test("has its defaults when nothing is given", () => {
    expect(parseOptions(OPTIONS, [])).toEqual({
      help: false,
      port: 3000,
      rate: undefined,
      wait: undefined,
      url: "http://localhost:3000",
      name: undefined,
      dev: false,
    });
  });

  test("is read with its types", () => {
    const argv = ["--port", "4000", "--rate=0.5", "--wait", "10m", "--url", "https://h.example/x/", "--dev"];
    expect(parseOptions(OPTIONS, argv)).toMatchObject({
      port: 4000,
      rate: 0.5,
      wait: 600_000,
      url: "https://h.example/x",
      dev: true,
    });
  });

  test.each([
    { argv: ["--prot", "1"], line: "unknown option --prot (--help lists them)" },
    { argv: ["--port"], line: "--port needs a value" },
    { argv: ["--port", "-1"], line: "--port needs a value" },
    { argv: ["--port=-1"], line: "--port must be from 1 to 65535, not -1" },
    { argv: ["--port", "65536"], line: "--port must be from 1 to 65535, not 65536" },
    { argv: ["--port", "3.5"], line: '--port must be a whole number, not "3.5"' },
    { argv: ["--port", ""], line: '--port must be a whole number, not ""' },
    { argv: ["--rate", "fast"], line: '--rate must be a number, not "fast"' },
    { argv: ["--wait", "10"], line: '--wait must be a duration such as 500ms, 30s, 10m, 2h or 1d, not "10"' },
    { argv: ["--url", "ftp://h"], line: '--url must be an http or https URL, not "ftp://h"' },
    { argv: ["--name", ""], line: "--name must not be empty" },
    { argv: ["--dev=yes"], line: "--dev takes no value" },
    { argv: ["extra"], line: "unexpected argument extra" },
  ])("$argv is refused with one line and exit code 2", ({ argv, line }) => {
    expect(fault(argv)).toMatchObject({ message: line, exitCode: 2 });
  });

  test("explains every option with its default", () => {
    const text = helpText("npm start", OPTIONS);
    for (const name of Object.keys(OPTIONS)) expect(text).toContain(`--${name}`);
    expect(text).toContain("a port (default 3000)");
  });
});
