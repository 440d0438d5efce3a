import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { loadConfig } from "./config";
import { Session } from "./session/session";
import { Notice } from "./shared/Notice";
import { App } from "./shell/App";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/memories.css";
import "./styles/drawer.css";

const root = createRoot(document.getElementById("root") as HTMLElement);

async function start(): Promise<void> {
  const config = await loadConfig();
  if (location.origin !== config.origin) {
    // Sign-in returns to one origin, and a tab's session is not seen from another.
    location.replace(config.origin + location.pathname + location.search);
    return;
  }
  const session = new Session(config);
  const problem = await session.open().then(
    () => undefined,
    (error: Error) => error.message,
  );
  root.render(
    <StrictMode>
      <App session={session} problem={problem} />
    </StrictMode>,
  );
}

start().catch((error: Error) => {
  root.render(
    <main className="welcome">
      <Notice title="The console can not start" detail={error.message}>
        <button type="button" onClick={() => location.reload()}>
          Try again
        </button>
      </Notice>
    </main>,
  );
});
