import { describe, expect, test } from "vitest";
import { checkTarget, TARGET_CHARS_MAX, type Target, type TargetRefused } from "../../lib/ledger/target.ts";
import { seededRandom } from "../helpers/random-values.ts";

const OWN = ["https://go.example.org", "holdfast.example"];

function accepted(typed: string, own = OWN): Target {
  const checked = checkTarget(typed, own);
  if (checked.kind !== "ok") throw new Error(`${typed} ${checked.message}`);
  return checked.target;
}

function refusal(typed: string, own = OWN): Omit<TargetRefused, "kind"> {
  const checked = checkTarget(typed, own);
  if (checked.kind === "ok") throw new Error(`${typed} was accepted as ${checked.target.location}`);
  const { kind: _, ...rest } = checked;
  return rest;
}

describe("what comes after the host", () => {
  test.each([
    ["B11", "https://www.flickr.com/photos/127405888@N08/"],
    ["B13", "https://example.com/?a=%2B&b=%2F&c=%3D&d=%2b"],
    ["B15", "https://en.wikipedia.org/wiki/?2+2_(TV_channel)"],
    ["B16", "https://example.com/s?q=a%20b...c[0]=1&c[0]=1&q=a%20b"],
    ["dots and empty segments", "https://example.com/a/../b//./c/%2e%2e/"],
    ["the port that is the default one", "https://example.com:443/x"],
    ["a port with zeros in front, and none after the colon", "http://example.com:00080"],
    ["no slash", "https://example.com"],
    ["broken percent signs", "https://example.com/100%/%zz?%"],
    ["characters that a parser would encode", `https://example.com/"<>{}|^\`?'"#\`<">`],
    ["a backslash inside the path", String.raw`https://example.com/a\b?c\d`],
  ])("%s: is kept byte for byte: %s", (_id, typed) => {
    expect(accepted(typed).location).toBe(typed);
  });

  test("B12: scheme and host are lowered, the rest is not touched", () => {
    expect(accepted("http://EXAMPLE.com?pub_id=28CL11&url=https://paytm.com/dth").location).toBe(
      "http://example.com?pub_id=28CL11&url=https://paytm.com/dth",
    );
    expect(accepted("HTTPS://Example.COM/Path?Q=V#Frag").location).toBe("https://example.com/Path?Q=V#Frag");
  });

  test("B48: what is not ASCII is percent-encoded as UTF-8, in path, query and fragment", () => {
    expect(accepted("https://example.com/größe/😀?q=é%C3%A9#–").location).toBe(
      "https://example.com/gr%C3%B6%C3%9Fe/%F0%9F%98%80?q=%C3%A9%C3%A9#%E2%80%93",
    );
  });

  test.each([
    ["space", "https://example.com/a b", 22, "a space"],
    ["CR", "https://example.com/\r\nSet-Cookie:x=1", 21, "CR"],
    ["LF", "https://example.com/?q=\n", 24, "LF"],
    ["tab", "https://exa\tmple.com/", 12, "a tab"],
    ["NUL", "https://example.com/\0", 21, "U+0000"],
    ["DEL", "https://example.com/\u007f", 21, "U+007F"],
    ["no-break space", "https://example.com/\u00a0", 21, "U+00A0"],
    ["line separator", "https://example.com/\u2028", 21, "U+2028"],
    ["half a character", "https://example.com/\ud83d", 21, "U+D83D"],
    ["space in front", " https://example.com/", 1, "a space"],
    ["space at the end", "https://example.com/ ", 21, "a space"],
  ])("B48: a raw %s is refused with its position", (_name, typed, position, name) => {
    const refused = refusal(typed);
    expect(refused).toMatchObject({ code: "character", position });
    expect(refused.message).toContain(`${name} (character ${position})`);
  });

  test("positions count characters, not halves of them", () => {
    expect(refusal("https://example.com/😀 x").position).toBe(22);
  });
});

describe("the host", () => {
  test("B10: a name in Unicode is asked for in punycode, and both forms are given", () => {
    expect(accepted("http://tübingen.de/")).toEqual({
      location: "http://xn--tbingen-n2a.de/",
      asciiHost: "xn--tbingen-n2a.de",
      displayHost: "tübingen.de",
    });
    expect(accepted("http://TÜBINGEN.de/x").displayHost).toBe("tübingen.de");
  });

  test("typed in punycode it stays so in both forms", () => {
    expect(accepted("http://xn--tbingen-n2a.de/").displayHost).toBe("xn--tbingen-n2a.de");
  });

  test("other spellings of an address are shown as the address", () => {
    for (const typed of ["http://0x08.8.8.8/", "http://8.8.2056/", "http://%38.8.8.8/"]) {
      expect(accepted(typed)).toEqual({
        location: "http://8.8.8.8/",
        asciiHost: "8.8.8.8",
        displayHost: "8.8.8.8",
      });
    }
    expect(accepted("http://[2001:DB8:0::1]:8080/a").location).toBe("http://[2001:db8::1]:8080/a");
  });

  test.each([
    ["http://", "host"],
    ["https:///example.com", "host"],
    ["http://?q", "host"],
    ["http://.", "host"],
    ["http://:80/", "host"],
    ["http://example.com:99999/", "host"],
    ["http://example.com:８０/", "host"],
    ["http://[::1", "host"],
    ["http://[::1]x/", "host"],
    ["http://exa<mple.com/", "host"],
    ["http://256.256.256.256/", "host"],
    ["http://a%00b.com/", "host"],
    ["http://exam\u00adple.com/", "host"],
    ["http://exam\u202eple.com/", "host"],
    ["https://user@example.com/", "userinfo"],
    ["https://user:pass@example.com/", "userinfo"],
    ["https://@example.com/", "userinfo"],
    ["https://example.org%40evil.com@example.com/", "userinfo"],
    [String.raw`https://example.com\@evil.com/`, "backslash"],
    ["", "empty"],
  ])("%j is refused: %s", (typed, code) => {
    const refused = refusal(typed);
    expect(refused.code).toBe(typed.includes("\u00ad") || typed.includes("\u202e") ? "character" : code);
  });

  test.each([
    "https://go.example.org/abc",
    "https://GO.Example.ORG/abc",
    "https://go.example.org./abc",
    "https://go.example.org:8443/abc",
    "http://go.example.org:80",
    "https://g%6f.example%2eorg/abc",
    "https://ｇｏ.example.org/abc",
    "https://go。example．org/abc",
    "http://holdfast.example?x",
    "http://HOLDFAST.EXAMPLE.#x",
  ])("B05: our own host is refused in any spelling: %s", (typed) => {
    expect(refusal(typed).code).toBe("own_host");
  });

  test("B05: our own host in Unicode and in punycode is one host", () => {
    for (const own of ["https://kürz.example", "xn--krz-hoa.example"]) {
      for (const typed of [
        "https://kürz.example/",
        "https://KÜRZ.example/",
        "https://xn--krz-hoa.example./",
      ]) {
        expect(refusal(typed, [own]).code).toBe("own_host");
      }
    }
  });

  test.each([
    "http://localhost/",
    "http://LOCALHOST:3000/x",
    "http://app.localhost/",
    "http://127.0.0.1:3000/",
    "http://127.1/",
    "http://2130706433/",
    "http://0x7f.0.0.1/",
    "http://0/",
    "http://[::1]/",
    "http://[::ffff:127.0.0.1]/",
  ])("B05: where we answer on this machine, each of its names is ours: %s", (typed) => {
    expect(refusal(typed, ["http://localhost:3000"]).code).toBe("own_host");
    expect(accepted(typed, ["https://go.example.org"]).location).toContain("http://");
  });

  test("a host that only contains ours is another host", () => {
    for (const typed of [
      "https://go.example.org.evil.com/",
      "https://notgo.example.org/",
      "https://example.org/",
    ]) {
      expect(accepted(typed).location).toBe(typed);
    }
  });
});

describe("the scheme", () => {
  test.each([
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    " javascript:alert(1)",
    "\u0001javascript:alert(1)",
    "javascript://example.com/%0aalert(1)",
    "data:text/html,<script>alert(1)</script>",
    "DATA:text/html;base64,PHNjcmlwdD4=",
    "vbscript:msgbox(1)",
    "file:///etc/passwd",
    "ftp://example.com/",
    "blob:https://example.com/1",
    "//example.com/",
    "example.com",
    "/path",
    "http:example.com",
    "http:/example.com",
    "https:\\\\example.com",
    "ws://example.com/",
    "http\n://example.com",
  ])("B19, B20: %j is refused", (typed) => {
    expect(["scheme", "character"]).toContain(refusal(typed).code);
  });
});

describe("the length", () => {
  test("2,048 characters are accepted and one more is not", () => {
    const base = "https://example.com/";
    expect(accepted(base + "a".repeat(TARGET_CHARS_MAX - base.length)).location).toHaveLength(
      TARGET_CHARS_MAX,
    );
    expect(refusal(base + "a".repeat(TARGET_CHARS_MAX + 1 - base.length)).code).toBe("too_long");
  });

  test("what counts is the length as it is sent", () => {
    expect(refusal(`https://example.com/${"é".repeat(400)}`).code).toBe("too_long");
  });

  test("a hostile length costs nothing", () => {
    expect(refusal(`https://example.com/${"é".repeat(5_000_000)}`).code).toBe("too_long");
  });
});

describe("any text", () => {
  const PIECES = [
    ...Array.from("htps:/?#\\@[].%25é😀ü a\t\r\n\0\u00ad\ud83d"),
    "http://",
    "https://",
    "example.com",
    "go.example.org",
    "%2e",
    "%47",
    "ｇ",
    "127.1",
    ":443",
    "[::1]",
    "//",
    "xn--",
    "..",
  ];

  test("an accepted target is ASCII, stays as it is when checked again, and leads where the parser says", () => {
    const random = seededRandom(4_010);
    const counts = { ok: 0, refused: 0 };
    for (let round = 0; round < 30_000; round++) {
      const pieces = Array.from(
        { length: Math.floor(random() * 8) },
        () => PIECES[Math.floor(random() * PIECES.length)],
      );
      const typed = (random() < 0.7 ? "https://" : "") + pieces.join("");
      const checked = checkTarget(typed, OWN);
      counts[checked.kind]++;
      if (checked.kind === "refused") continue;
      const { location, asciiHost, displayHost } = checked.target;
      expect(location).toMatch(/^https?:\/\/[!-~]+$/);
      expect(checkTarget(location, OWN)).toEqual({
        kind: "ok",
        target: { location, asciiHost, displayHost: asciiHost },
      });
      const url = new URL(typed);
      expect(new URL(location).href).toBe(url.href);
      expect([url.protocol, url.username, url.password]).toEqual([
        expect.stringMatching(/^https?:$/),
        "",
        "",
      ]);
      expect(new URL(`http://${displayHost}`).hostname).toBe(asciiHost);
      expect(asciiHost.replace(/\.+$/, "")).not.toBe("go.example.org");
    }
    expect(Math.min(counts.ok, counts.refused)).toBeGreaterThan(3_000);
  });
});
