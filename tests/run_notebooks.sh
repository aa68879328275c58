#!/usr/bin/env bash
# The tutorial notebooks under strict nbval, three times in a row, the last time beside a busy loop.
# With --save they are run once and saved with new outputs instead.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-.venv/bin/python}"

if [ "${1:-}" = "--save" ]; then
  for notebook in notebooks/*.ipynb; do
    "$python" tests/save_notebook.py "$notebook"
  done
  exit
fi

rules="$(mktemp)"
trap 'rm -f "$rules"; kill "${busy:-}" 2> /dev/null || true' EXIT
"$(dirname "$python")/tfinsight" nbval-sanitize --out "$rules"
for round in 1 2 3; do
  if [ "$round" = 3 ]; then
    "$python" -c 'while True: pass' &
    busy=$!
  fi
  "$python" -m pytest --nbval --nbval-current-env --nbval-sanitize-with "$rules" notebooks
done
