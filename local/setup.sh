#!/bin/sh
# Makes what the targets of the Makefile need and says in one line what is missing.
# Usage: local/setup.sh app | sam | emulator | console | browser
set -eu
cd "$(dirname "$0")/.."

missing() {
    echo "missing: $1" >&2
    exit 1
}

# The real interpreter, not a version manager's shim: `sam build` refuses shims.
python313() {
    for candidate in python3.13 python3 "$(pyenv root 2>/dev/null || true)"/versions/3.13*/bin/python3.13; do
        "$candidate" -c 'import sys; sys.version_info[:2] == (3, 13) or sys.exit(1); print(sys.executable)' \
            2>/dev/null && return
    done
    return 1
}

# environment DIR REQUIREMENTS [INSTALL OPTIONS]: a virtual environment with these packages.
environment() {
    directory=$1 requirements=$2
    shift 2
    python=$(python313 || true)
    uv=$(command -v uv || true)
    [ -n "$python$uv" ] || missing "Python 3.13 (or uv, which brings it)"
    if ! "$directory/bin/python" -c '' 2>/dev/null; then
        echo "setting up $directory" >&2
        if [ -n "$uv" ]; then
            uv venv --quiet --clear --seed --python "${python:-3.13}" "$directory"
        else
            "$python" -m venv --clear "$directory"
        fi
    fi
    if [ -n "$uv" ]; then
        uv pip install --quiet --python "$directory/bin/python" "$@" -r "$requirements"
    else
        "$directory/bin/python" -m pip install --quiet --disable-pip-version-check "$@" -r "$requirements"
    fi
}

case ${1:-} in
app) environment .venv requirements.lock --require-hashes ;;
sam | emulator) environment ".local/tools/$1" "local/tools-$1.txt" ;;
console)
    command -v npm >/dev/null || missing "Node 20 with npm (builds the console)"
    major=$(node --version | sed 's/^v\([0-9]*\).*/\1/')
    [ "$major" -ge 20 ] || missing "Node 20 or newer (found $(node --version))"
    npm --prefix console ci --no-audit --no-fund --loglevel=error >/dev/null
    npm --prefix console run --silent build
    ;;
browser)
    command -v chromium >/dev/null || command -v chromium-browser >/dev/null ||
        command -v google-chrome >/dev/null || {
        command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] ||
            missing "Chromium (the tests of the console drive it)"
        echo "installing chromium" >&2
        { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium; } >/dev/null 2>&1 ||
            missing "Chromium (apt-get install chromium failed)"
    }
    ;;
*) missing "an argument: app, sam, emulator, console or browser" ;;
esac
