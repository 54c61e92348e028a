#!/bin/sh
# Write the locks anew from pyproject.toml: every version and hash, for all platforms and Pythons at once.
# Versions stay as they are unless pyproject.toml or an option of uv asks for others:
#   packaging/locks/renew.sh --upgrade      packaging/locks/renew.sh --upgrade-package keras
set -eu
cd "$(dirname "$0")/../.."

lock() {
    output=packaging/locks/$1.txt
    shift
    uv pip compile pyproject.toml --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
        --group in-place --output-file "$output" "$@"
}

lock runtime "$@"
# The others agree with the first, version by version.
lock dev --group dev --constraint packaging/locks/runtime.txt "$@"
lock cuda --extra cuda --constraint packaging/locks/runtime.txt "$@"
