#!/bin/sh
# Entry point under the Lambda Web Adapter, which hands requests on to this server.
export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}/opt/python:${LAMBDA_RUNTIME_DIR:-/var/runtime}"
exec python3 -m uvicorn app:app --host 127.0.0.1 --port "${AWS_LWA_PORT:-${PORT:-8080}}" \
    --no-access-log --timeout-keep-alive 0
