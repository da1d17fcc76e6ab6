# Shared by the scripts in this folder: find a Python, make the environment, install with pinned versions.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }

# Print a Python of at least 3.11, or of exactly the version asked for (e.g. 3.12).
find_python() {
  local wanted="${1:-}" candidate
  local names=("${MAXKERNEL_PYTHON:-}" python3 python3.13 python3.12 python3.11)
  [ -n "$wanted" ] && names=("python$wanted" python3)
  if [ -n "$wanted" ] && command -v pyenv >/dev/null 2>&1; then
    for candidate in "$(pyenv root)"/versions/"$wanted"*/bin/python; do
      [ -x "$candidate" ] && names+=("$candidate")
    done
  fi
  for candidate in "${names[@]}"; do
    [ -n "$candidate" ] || continue
    if "$candidate" - "$wanted" <<'PY' >/dev/null 2>&1; then
import sys
wanted = sys.argv[1]
version = "%d.%d" % sys.version_info[:2]
sys.exit(0 if (version == wanted if wanted else (3, 11) <= sys.version_info[:2] < (3, 14)) else 1)
PY
      command -v "$candidate"
      return 0
    fi
  done
  echo "No Python ${wanted:-3.11 or later} found. Install one, or set MAXKERNEL_PYTHON to its path." >&2
  return 1
}

# make_environment FOLDER PYTHON EXTRAS: a virtual environment with this checkout installed in it.
# A stamp of what was asked for makes the second call a matter of milliseconds.
make_environment() {
  local folder="$1" python="$2" extras="$3" version constraints stamp
  version="$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  constraints="constraints/python$version.txt"
  [ -f "$constraints" ] || constraints=constraints/python3.12.txt
  stamp="$(cat pyproject.toml "$constraints" | cksum | tr -d ' ') $version"
  if [ -x "$folder/bin/python" ] && [ -f "$folder/.stamp" ]; then
    local installed
    installed="$(cat "$folder/.stamp")"
    case "$installed" in
      "$stamp dev"*) return 0 ;;
      "$stamp $extras") return 0 ;;
    esac
  fi
  say "Installing into $folder (Python $version, extras: $extras)"
  [ -x "$folder/bin/python" ] || "$python" -m venv "$folder"
  "$folder/bin/python" -m pip install --quiet --constraint "$constraints" --editable ".[$extras]"
  echo "$stamp $extras" >"$folder/.stamp"
}
