"""What the server answers, for tests without a server."""

MESSAGE = {
    "id": "m1",
    "inbox_id": "k3v9",
    "from": "shop@app.example",
    "to": "k3v9@restante.example.com",
    "subject": "Welcome",
    "text": "",
    "html": "",
    "links": [],
    "otp": "",
    "received_at": "2026-11-20T09:30:00.123Z",
}
