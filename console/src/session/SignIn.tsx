import { useState } from "react";
import { Logo } from "../shared/Logo";
import { Notice } from "../shared/Notice";
import type { Session } from "./session";

/** What one sees who is not signed in; `problem` tells why a try to sign in failed. */
export function SignIn(props: { session: Session; problem?: string | undefined }) {
  const [problem, setProblem] = useState(props.problem);
  const signIn = () => props.session.signIn().catch((error: Error) => setProblem(error.message));
  return (
    <main className="welcome">
      <Logo size={44} />
      <h1>Threadkeep</h1>
      <p>See and search what your agents remember about you.</p>
      {problem && <Notice title="Signing in did not work" detail={problem} />}
      <button type="button" className="primary" onClick={signIn}>
        Sign in
      </button>
    </main>
  );
}
