#!/usr/bin/env bash
# Installs the clients that the interop suite runs, each in its exact version, into a folder outside the checkout. What is
# there already and unchanged is left alone. A client that cannot be had is left out with a word, and so are its tests.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
clients=${WFHOST_CLIENTS:-$HOME/.cache/wfhost-ci/clients}
mkdir -p "$clients"

# install NAME FILE COMMAND...: runs the command unless it has succeeded with this very file before.
install() {
    local name=$1 wanted
    wanted=$(sha256sum <"$2" | cut -d' ' -f1)
    shift 2
    if [ "$(cat "$clients/$name.ready" 2>/dev/null)" = "$wanted" ]; then
        echo "clients: $name is ready"
        return
    fi
    rm -rf "${clients:?}/$name" "$clients/$name.ready"
    if "$@" "$clients/$name"; then
        echo "$wanted" >"$clients/$name.ready"
        echo "clients: $name is installed"
    else
        echo "clients: $name cannot be installed, its tests will be left out" >&2
    fi
}

# with_pip REQUIREMENTS FOLDER
with_pip() {
    command -v python3 >/dev/null && python3 -m venv "$2" && "$2/bin/pip" install --quiet --requirement "$1"
}

# with_npm FOLDER
with_npm() (
    command -v npm >/dev/null && mkdir -p "$1" && cp "$here"/node/package*.json "$1" &&
        cd "$1" && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel error
)

# with_npm_of PACKAGE.JSON FOLDER
with_npm_of() (
    command -v npm >/dev/null && mkdir -p "$2" && cp "$1" "$2/package.json" &&
        cd "$2" && npm install --no-save --ignore-scripts --no-audit --no-fund --loglevel error
)

install python-modern "$here/python/modern.txt" with_pip "$here/python/modern.txt"
install python-legacy "$here/python/legacy.txt" with_pip "$here/python/legacy.txt"
install node "$here/node/package-lock.json" with_npm

# What authors of plugins build with, in the versions that their projects name.
install kit-javascript "$here/kit/package.json" with_npm_of "$here/kit/package.json"
install kit-python "$here/kit/python.txt" with_pip "$here/kit/python.txt"
install kit-c "$here/kit/c.txt" with_pip "$here/kit/c.txt"
