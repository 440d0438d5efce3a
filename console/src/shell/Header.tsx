import { Link } from "wouter";
import type { SignedInUser } from "../session/session";
import { Logo } from "../shared/Logo";
import { PAGES } from "./pages";

export function Header({ user, onSignOut }: { user: SignedInUser; onSignOut: () => void }) {
  return (
    <header className="top">
      <span className="brand">
        <Logo size={22} />
        Threadkeep
      </span>
      <nav aria-label="Pages">
        {PAGES.map(({ path, name }) => (
          <Link key={path} href={path} className={(isActive) => (isActive ? "active" : "")}>
            {name}
          </Link>
        ))}
      </nav>
      <span className="who" title={user.name}>
        {user.name}
      </span>
      <button type="button" onClick={onSignOut}>
        Sign out
      </button>
    </header>
  );
}
