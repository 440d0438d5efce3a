import type { ReactNode } from "react";
import { ApiError } from "../api/client";

/** A failure in words, with what can be done about it. */
export function Notice(props: { title: string; detail: string; children?: ReactNode }) {
  return (
    <div role="alert" className="notice">
      <h2>{props.title}</h2>
      <p>{props.detail}</p>
      {props.children}
    </div>
  );
}

/** A request that failed, with a way to try again. */
export function Failure(props: { what: string; error: Error; onRetry: () => void }) {
  const requestId = props.error instanceof ApiError ? props.error.requestId : undefined;
  return (
    <Notice title={props.what} detail={props.error.message}>
      {requestId && (
        <p className="quiet">
          Request <code>{requestId}</code>
        </p>
      )}
      <button type="button" onClick={props.onRetry}>
        Try again
      </button>
    </Notice>
  );
}
