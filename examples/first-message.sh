#!/usr/bin/env bash
# Creates an inbox, mails it and waits for the message; prints the code in it.
set -euo pipefail

: "${RESTANTE_API_KEY:?set it to the key that restante serve printed}"
url=${RESTANTE_URL:-http://127.0.0.1:8025}
smtp=smtp://${RESTANTE_SMTP:-127.0.0.1:1025}

# The value of a text field in the JSON on standard input.
field() {
    grep -o "\"$1\":\"[^\"]*\"" | cut -d'"' -f4
}

api() {
    curl --silent --show-error --fail-with-body --header "Authorization: Bearer $RESTANTE_API_KEY" "$@"
}

inbox=$(api --request POST "$url/v1/inboxes")
id=$(field id <<<"$inbox")
address=$(field address <<<"$inbox")

printf 'From: app@example.com\r\nTo: %s\r\nSubject: Sign in\r\n\r\nYour code is 482913.\r\n' "$address" |
    curl --silent --show-error --url "$smtp" --mail-from app@example.com --mail-rcpt "$address" --upload-file -

api "$url/v1/inboxes/$id/messages/wait?timeout=30000" | field otp
