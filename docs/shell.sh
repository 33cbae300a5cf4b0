# Commands for the examples of these pages, for bash and zsh. Run `make serve` in one terminal. Then run this script in
# another terminal, in any folder:
#
#     . docs/shell.sh               # or with its path: . ~/skerry/docs/shell.sh, or as `skerry serve` prints it
#     PORT=9000 . docs/shell.sh     # if `make serve` has another PORT. Do the same with STATE_DIR
#
# The script sets A to the address of the API, and T to a token. If A and T already work, they do not change, so you can
# run the script again. To use another server, first set `A=https://cloud.example.com/v4 T=…`. A new token belongs to
# `owner`, a user of the demo account. It expires at midnight UTC, but not earlier than in two hours.

# Send a request: api $A/regions. Prints the answer, and fails if the answer is an error.
api() {
    local answer
    answer=$(curl -sS -H "Authorization: Bearer $T" -H "Content-Type: application/json" "$@") || return
    printf '%s\n' "$answer"
    [[ $answer != '{"errors":'* ]]
}

# Print a field of an answer: api $A/profile | field username. Fails if the answer lacks the field, with the API's reason.
field() {
    python3 -IS -c '
import json, sys

text = sys.stdin.read()
try:
    answer = json.loads(text)
except ValueError:
    sys.exit(f"This is not an answer of the API: {text[:200].strip()}" if text.strip() else "The answer is empty.")
if isinstance(answer, dict) and list(answer) == ["errors"]:
    sys.exit("\n".join(": ".join(filter(None, ("refused", each["field"], each["reason"]))) for each in answer["errors"]))
try:
    for name in sys.argv[1].split("."):
        answer = answer[int(name) if isinstance(answer, list) else name]
except (KeyError, IndexError, TypeError, ValueError):
    sys.exit(f"The answer has no {sys.argv[1]}: {text[:200].strip()}")
print(answer if isinstance(answer, str) else json.dumps(answer))
' "$1"
}

# Print the id of the first object of a list: api $A/volumes | first
first() { field data.0.id; }

# Do the same as api. While the answer is "Compute busy.", send the request again, for at most PATIENCE seconds.
when_free() {
    local answer end=$(($(date +%s) + PATIENCE))
    while answer=$(api "$@"); [[ $answer == *' busy."'* && $(date +%s) -lt $end ]]; do sleep 0.5; done
    printf '%s\n' "$answer"
    [[ -n $answer && $answer != '{"errors":'* ]]
}

# Wait until an object has a status: until_status $A/volumes/7 active. Fails with a reason if the object is deleted, if
# its newest event has failed, or after PATIENCE seconds.
until_status() {
    local answer found end=$(($(date +%s) + PATIENCE))
    while answer=$(api "$1"); found=$(printf '%s' "$answer" | field status); do
        [ "$found" = "$2" ] && return
        has_not_failed "$1" || return
        if [ "$(date +%s)" -ge "$end" ]; then
            echo "$1 is still $found after $PATIENCE seconds." >&2
            return 1
        fi
        sleep 0.5
    done
    has_not_failed "$1"
    return 1
}

# Wait until an object is deleted: until_gone $A/compute/instances/7
until_gone() {
    local answer end=$(($(date +%s) + PATIENCE))
    while answer=$(api "$1"); [[ $answer != *'"Not found"'* ]]; do
        has_not_failed "$1" || return
        if [ -z "$answer" ] || [ "$(date +%s)" -ge "$end" ]; then
            echo "$1 still exists." >&2
            return 1
        fi
        sleep 0.5
    done
}

# Check that the newest event about an object has not failed: has_not_failed $A/volumes/7. Prints the failure.
has_not_failed() {
    local events
    events=$(api "$A/account/events?page_size=100") || return 0
    printf '%s' "$events" | python3 -IS -c '
import json, sys
from urllib.parse import urlsplit

path = urlsplit(sys.argv[1]).path
for event in json.load(sys.stdin).get("data", []):
    if any(entity and entity["url"] == path for entity in (event["entity"], event["secondary_entity"])):
        failed = event["status"] == "failed"
        sys.exit("{action} failed: {message}".format_map(event) if failed else 0)
' "$1"
}

# Run a command of Django for the application in a folder: manage ~/skerry create_token owner. The folder is the source
# tree, or that of the installed package in an environment, whose command `skerry` need not be on PATH.
manage() {
    local folder=$1 program
    shift
    if [ -e "$folder/pyproject.toml" ]; then
        "$folder/manage.py" "$@"
    else
        program=$folder/../../../../../bin/skerry
        [ -x "$program" ] || program=skerry
        "$program" manage "$@"
    fi
}

# Keep the token in T if it works. Otherwise create a new one for the application in a folder: use_token ~/skerry
use_token() {
    local output expiry
    if ! curl -sS -o /dev/null "$A/regions"; then
        echo "No server answers at $A. Start one with \`make serve\`, or give its port: PORT=9000 . docs/shell.sh" >&2
        return 1
    fi
    [ -n "${T:-}" ] && api "$A/profile" >/dev/null && return
    expiry=$(python3 -IS -c '
from datetime import datetime, timedelta, timezone

now = datetime.now(timezone.utc).replace(tzinfo=None, microsecond=0)
print(max(now.replace(hour=23, minute=59, second=59), now + timedelta(hours=2)).isoformat())') || return
    output=$(manage "$1" create_token owner --label docs/shell.sh --expiry "$expiry" 2>&1)
    T=$(printf '%s\n' "$output" | tail -n 1)
    [[ ${#T} = 64 ]] && output=$(api "$A/profile") && return
    echo "No working token could be created for $A: $(printf '%s\n' "$output" | grep -v '^ \|^LINE\|^$' | tail -n 1)" >&2
    echo "Set STATE_DIR or DATABASE_URL as for \`make serve\`, or set T to the token that \`make serve\` prints." >&2
    T=
    return 1
}

if [ -z "${BASH_VERSION:-}${ZSH_VERSION:-}" ]; then
    echo "docs/shell.sh needs bash or zsh. Start one of these shells first." >&2
    return 1
fi
PATIENCE=${PATIENCE:-600}
if [ -n "${PORT:-}" ]; then A=http://127.0.0.1:$PORT/v4; else A=${A:-http://127.0.0.1:8000/v4}; fi
if [ -n "${ZSH_VERSION:-}" ]; then
    setopt interactive_comments
    eval 'use_token "${${(%):-%x}:A:h:h}"'
else
    use_token "$(CDPATH='' cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
fi
