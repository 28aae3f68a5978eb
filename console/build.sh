#!/bin/sh
# Builds the console and puts the files where the service finds them.
set -eu
cd "$(dirname "$0")"
[ -d node_modules ] || npm ci --no-audit --no-fund
npm run --silent build
target=../runtime/serve/console
find "$target" -type f ! -name '*.py' ! -path '*__pycache__*' -delete
cp dist/index.html dist/assets/* "$target"/
rm -rf dist
