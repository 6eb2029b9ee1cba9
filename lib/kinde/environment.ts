/**
 * The settings of a tenant, real or emulated, as environment variables. They are judged once at start, because the
 * sign-in library finds a wrong one late: as a redirect loop, or as an error page that shows the secret.
 */

export interface KindeEnvironment {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly siteUrl: string;
  readonly audience: string;
  readonly m2mClientId: string;
  readonly m2mClientSecret: string;
}

/** One thing that is wrong. The message names the variable and never its value, which may be a secret. */
export interface SettingsFault {
  readonly variable: string;
  readonly message: string;
}

/** What Convex checks access tokens against; the name of the API that the tenant has to have. */
export const CONVEX_AUDIENCE = "convex";

/** From the source of the sign-in library: another secret makes its callback fail with the secret in the answer. */
const SECRET_SHAPE = /^[a-zA-Z0-9]{40,60}$/;

type Environment = Readonly<Record<string, string | undefined>>;

type Judge = (value: string) => string | null;

/** What the web server reads, and what is wrong with a value. */
const WEB_VARIABLES: Readonly<Record<string, Judge>> = {
  KINDE_ISSUER_URL: (value) => judgeOrigin(value, "tokens name the issuer without one"),
  KINDE_CLIENT_ID: anything,
  KINDE_CLIENT_SECRET: judgeSecret,
  KINDE_SITE_URL: (value) => judgeOrigin(value, "the callback address is made from it"),
  KINDE_AUDIENCE: (value) =>
    value === CONVEX_AUDIENCE ? null : `must be "${CONVEX_AUDIENCE}", the one audience that Convex accepts`,
};

/** What the Convex functions read besides the issuer. */
const MACHINE_VARIABLES: Readonly<Record<string, Judge>> = {
  KINDE_M2M_CLIENT_ID: anything,
  KINDE_M2M_CLIENT_SECRET: anything,
};

/** What `npm start` makes from the site. Without it the sign-in sends people to whatever address a link names. */
const REDIRECT_VARIABLES: Readonly<Record<string, Judge>> = {
  KINDE_POST_LOGIN_ALLOWED_URL_REGEX: judgeRegex,
};

/** Everything that is wrong with the variables of the web server alone. */
export function webFaults(env: Environment): SettingsFault[] {
  return faultsIn(env, { ...WEB_VARIABLES, ...REDIRECT_VARIABLES });
}

/** The settings in `env`, or everything that is wrong with them. */
export function readKindeEnvironment(
  env: Environment,
):
  | { readonly kind: "ok"; readonly settings: KindeEnvironment }
  | { readonly kind: "faulty"; readonly faults: SettingsFault[] } {
  const faults = faultsIn(env, { ...WEB_VARIABLES, ...MACHINE_VARIABLES });
  if (faults.length > 0) return { kind: "faulty", faults };
  const read = (variable: string) => env[variable] ?? "";
  return {
    kind: "ok",
    settings: {
      issuerUrl: read("KINDE_ISSUER_URL"),
      clientId: read("KINDE_CLIENT_ID"),
      clientSecret: read("KINDE_CLIENT_SECRET"),
      siteUrl: read("KINDE_SITE_URL"),
      audience: read("KINDE_AUDIENCE"),
      m2mClientId: read("KINDE_M2M_CLIENT_ID"),
      m2mClientSecret: read("KINDE_M2M_CLIENT_SECRET"),
    },
  };
}

function faultsIn(env: Environment, variables: Readonly<Record<string, Judge>>): SettingsFault[] {
  return Object.entries(variables).flatMap(([variable, judge]) => {
    const value = env[variable] ?? "";
    const problem = value === "" ? "is not set" : judge(value);
    return problem === null ? [] : [{ variable, message: `${variable} ${problem}` }];
  });
}

function anything(): null {
  return null;
}

function judgeSecret(secret: string): string | null {
  return SECRET_SHAPE.test(secret) ? null : "must be 40 to 60 letters and digits, as the provider shows it";
}

/** Spellings of another site that a browser would follow from here. */
const ELSEWHERE = ["https://evil.example/", "//evil.example/", "/\\evil.example/", "/\t/evil.example/"];

function judgeRegex(pattern: string): string | null {
  try {
    const allowed = new RegExp(pattern);
    return ELSEWHERE.some((target) => allowed.test(target)) ? "lets any site through" : null;
  } catch {
    return "is not a regular expression";
  }
}

/** A URL of scheme and host alone; plain http only on this machine. */
function judgeOrigin(value: string, whyNoSlash: string): string | null {
  if (!URL.canParse(value)) return "is not a URL; it begins with https://";
  const url = new URL(value);
  if (url.protocol !== "https:" && url.protocol !== "http:") return "is not a URL; it begins with https://";
  if (value.endsWith("/")) return `ends with a slash; ${whyNoSlash}`;
  if (value !== url.origin) return "must be scheme and host alone, in lower case, without a path";
  if (url.protocol === "http:" && !isLoopback(url.hostname))
    return "must begin with https:// outside this machine";
  return null;
}

export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d{1,3}){3}$/.test(hostname);
}

/**
 * Where the sign-in may send people afterwards: the site itself and nowhere else. A browser reads a backslash as a
 * slash, and takes tabs and line ends out before it looks: none of them may follow the first slash.
 */
export function postLoginAllowedRegex(siteUrl: string): string {
  return `^(?:${siteUrl.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)})?/(?![/\\\\\\s])`;
}
