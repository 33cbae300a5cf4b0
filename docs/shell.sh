# What the examples in these pages are typed with. In the project's folder, beside `make serve`: . docs/shell.sh

A=http://127.0.0.1:${PORT:-8000}/v4
T=$(./manage.py create_token owner)

# a request: api $A/regions
api() { curl -sS -H "Authorization: Bearer $T" -H "Content-Type: application/json" "$@"; echo; }

# a field of an answer: api $A/profile | field username
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

# the id of the first object of a list: api $A/volumes | first
first() { python3 -c 'import json, sys; print(json.load(sys.stdin)["data"][0]["id"])'; }

# wait until something shows a status: until_status $A/volumes/7 active
until_status() { until [ "$(api "$1" | field status)" = "$2" ]; do sleep 1; done; }

# as api, asked again for as long as the answer is "Compute busy."
turn() {
    local answer
    while answer=$(api "$@"); [[ $answer == *"Compute busy."* ]]; do sleep 1; done
    echo "$answer"
}
