/** A setting of the client is unusable. Names the setting, never its value. */
export class KindeSettingsError extends Error {
  readonly code = "kinde_settings_invalid";
  override readonly name = "KindeSettingsError";
}

export interface KindeSettings {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Defaults to `${issuerUrl}/api`. */
  readonly audience?: string;
}

/**
 * Checks what the client needs to start. Throws `KindeSettingsError`. The issuer is an origin without a trailing
 * slash, because tokens name it exactly so. Plain http is for loopback only: elsewhere it would show the client
 * secret to the network.
 */
export function checkSettings(settings: KindeSettings): Required<KindeSettings> {
  const { issuerUrl, clientId, clientSecret } = settings;
  const url = parseUrl(issuerUrl);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) {
    throw new KindeSettingsError("the Kinde issuer must be an http or https URL");
  }
  if (url.origin !== issuerUrl) {
    throw new KindeSettingsError(
      "the Kinde issuer must be an origin such as https://example.kinde.com, with nothing after it",
    );
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    throw new KindeSettingsError("the Kinde issuer may use plain http on loopback only");
  }
  if (clientId === "") throw new KindeSettingsError("the Kinde M2M client id is empty");
  if (clientSecret === "") throw new KindeSettingsError("the Kinde M2M client secret is empty");
  return { issuerUrl, clientId, clientSecret, audience: settings.audience ?? `${issuerUrl}/api` };
}

function parseUrl(text: string): URL | null {
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}
