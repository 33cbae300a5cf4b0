# The commands that the examples of these pages are typed with, for bash and zsh. In a terminal beside `make serve`,
# from any folder:
#
#     . docs/shell.sh               # or by its path: . ~/skerry/docs/shell.sh
#     PORT=9000 . docs/shell.sh     # where `make serve` has another PORT; the same goes for its STATE_DIR
#
# A is the API's address and T the token. What they hold is kept for as long as it works, so this may be typed again, and
# `A=https://cloud.example.com/v4 T=…` beforehand has the examples talk to any server. A token that has to be made is one
# of the user owner, and ends today: at midnight UTC, but not within two hours.

# a request: api $A/regions. It prints the answer, and fails where that is an error
api() {
    local answer
    answer=$(curl -sS -H "Authorization: Bearer $T" -H "Content-Type: application/json" "$@") || return
    printf '%s\n' "$answer"
    [[ $answer != '{"errors":'* ]]
}

# a field of an answer: api $A/profile | field username. An answer without it fails, with the reason that the API gives
field() {
    python3 -IS -c '
import json, sys

text = sys.stdin.read()
try:
    answer = json.loads(text)
except ValueError:
    sys.exit(f"This is no answer of the API: {text[:200].strip()}" if text.strip() else "There is no answer.")
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

# the id of the first object of a list: api $A/volumes | first
first() { field data.0.id; }

# as api, asked again for as long as the answer is "Compute busy."
when_free() {
    local answer end=$(($(date +%s) + PATIENCE))
    while answer=$(api "$@"); [[ $answer == *' busy."'* && $(date +%s) -lt $end ]]; do sleep 0.5; done
    printf '%s\n' "$answer"
    [[ -n $answer && $answer != '{"errors":'* ]]
}

# wait until an object shows a status: until_status $A/volumes/7 active. Fails, and says why, when the object is gone,
# when what was done to it failed, or after PATIENCE seconds
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

# wait until an object is gone: until_gone $A/compute/instances/7
until_gone() {
    local answer end=$(($(date +%s) + PATIENCE))
    while answer=$(api "$1"); [[ $answer != *'"Not found"'* ]]; do
        has_not_failed "$1" || return
        if [ -z "$answer" ] || [ "$(date +%s)" -ge "$end" ]; then
            echo "$1 is still there." >&2
            return 1
        fi
        sleep 0.5
    done
}

# whether the newest event about an object is not of a failure, which is said: has_not_failed $A/volumes/7
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

# the token in T if it works, or else a new one, made in the project's folder: use_token ~/skerry
use_token() {
    local said expiry
    if ! curl -sS -o /dev/null "$A/regions"; then
        echo "Nothing answers at $A. Start it with \`make serve\`, or say where it is: PORT=9000 . docs/shell.sh" >&2
        return 1
    fi
    [ -n "${T:-}" ] && api "$A/profile" >/dev/null && return
    expiry=$(python3 -IS -c '
from datetime import datetime, timedelta, timezone

now = datetime.now(timezone.utc).replace(tzinfo=None, microsecond=0)
print(max(now.replace(hour=23, minute=59, second=59), now + timedelta(hours=2)).isoformat())') || return
    said=$("$1/manage.py" create_token owner --label docs/shell.sh --expiry "$expiry" 2>&1)
    T=$(printf '%s\n' "$said" | tail -n 1)
    [[ ${#T} = 64 ]] && said=$(api "$A/profile") && return
    echo "No token was made that works at $A: $(printf '%s\n' "$said" | grep -v '^ \|^LINE\|^$' | tail -n 1)" >&2
    echo "Set STATE_DIR or DATABASE_URL as \`make serve\` has them, or T to the token that it prints." >&2
    T=
    return 1
}

if [ -z "${BASH_VERSION:-}${ZSH_VERSION:-}" ]; then
    echo "docs/shell.sh is for bash and zsh. Start one of them first." >&2
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
