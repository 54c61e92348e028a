#!/bin/sh
# Print the Python to make the environment with: 3.11, 3.12 or 3.13, one that can make environments if there is one.
# $PYTHON, if it is set, is the only candidate.
set -u

OLDEST=11
NEWEST=13

# minor NAME: print the minor version of a Python 3, nothing for all else (a shim of pyenv may name one that is not there).
minor() {
    "$1" -c 'import sys; sys.version_info[0] == 3 and print(sys.version_info[1])' 2>/dev/null
}

suits() {
    found=$(minor "$1") && [ -n "$found" ] && [ "$found" -ge "$OLDEST" ] && [ "$found" -le "$NEWEST" ]
}

makes_environments() {
    "$1" -c 'import ctypes, ensurepip, ssl, venv' 2>/dev/null
}

refuse() {
    printf 'GPU Studio: %s\n' "$1" >&2
    printf 'GPU Studio: it needs Python 3.%s to 3.%s, for which TensorFlow is built. ' "$OLDEST" "$NEWEST" >&2
    printf 'On Debian: sudo apt-get install python3 python3-venv; elsewhere say where one is: make PYTHON=/path/to/python3.12 …\n' >&2
    exit 1
}

if [ -n "${PYTHON:-}" ]; then
    suits "$PYTHON" || refuse "PYTHON=$PYTHON is not a Python that it can use."
    command -v "$PYTHON"
    exit
fi

first=
for name in python3.11 python3.12 python3.13 python3; do
    suits "$name" || continue
    if makes_environments "$name"; then
        command -v "$name"
        exit
    fi
    [ -n "$first" ] || first=$name
done
[ -n "$first" ] || refuse "there is no Python here that it can use."
command -v "$first"
