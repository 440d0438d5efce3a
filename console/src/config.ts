/** What the app knows of its deployment: the answer of `GET /app/config.json`. */
export interface Config {
  /** Issuer of the tokens. */
  issuer: string;
  client_id: string;
  /** Address of the hosted sign-in page, without a slash at the end. */
  hosted_ui_url: string;
  /** Address of the console that sign-in returns to, without a slash at the end. */
  origin: string;
}

/** Read the configuration. Throws when the server does not give one. */
export async function loadConfig(): Promise<Config> {
  const answer = await fetch(`${import.meta.env.BASE_URL}config.json`);
  if (!answer.ok) throw new Error(`The console's settings can not be read (${answer.status}).`);
  return answer.json();
}
