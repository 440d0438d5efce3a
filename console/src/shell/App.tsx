import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { useState } from "react";
import { Link, Redirect, Route, Switch } from "wouter";
import { ApiClient, ApiError } from "../api/client";
import { SignIn } from "../session/SignIn";
import { HOME, type Session, type SignedInUser } from "../session/session";
import { ApiContext, useUser } from "../session/useSession";
import { Header } from "./Header";
import { PAGES } from "./pages";

const RETRIES = 2;

/** The whole console: the sign-in page, or the pages of the user who is signed in. */
export function App(props: { session: Session; problem?: string | undefined }) {
  const user = useUser(props.session);
  if (!user) return <SignIn session={props.session} problem={props.problem} />;
  return <Pages key={user.id} session={props.session} user={user} />;
}

function Pages({ session, user }: { session: Session; user: SignedInUser }) {
  const [api] = useState(() => new ApiClient(session));
  const [cache] = useState(newCache); // one for each user: none sees what another has read
  return (
    <ApiContext value={api}>
      <QueryClientProvider client={cache}>
        <Header user={user} onSignOut={() => session.signOut()} />
        <Switch>
          {PAGES.map(({ path, Page }) => (
            <Route key={path} path={path} component={Page} />
          ))}
          <Route path="/app">
            <Redirect to={HOME} replace />
          </Route>
          <Route component={NoSuchPage} />
        </Switch>
      </QueryClientProvider>
    </ApiContext>
  );
}

function NoSuchPage() {
  return (
    <main className="page">
      <h1>No such page</h1>
      <p>
        <Link href={HOME}>Go to my memories</Link>
      </p>
    </main>
  );
}

function newCache(): QueryClient {
  const retry = (failures: number, error: Error) =>
    failures < RETRIES && error instanceof ApiError && error.isPassing;
  return new QueryClient({ defaultOptions: { queries: { retry } } });
}
