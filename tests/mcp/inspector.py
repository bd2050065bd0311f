"""The official inspector as a client, by its command line, over both transports. Each call is a separate session."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

from bed import KEY, PROGRAM, TOOLS, URL, application_sends

INSPECTOR = os.environ["MCP_INSPECTOR"]
HTTP = [f"{URL}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {KEY}"]
STDIO = [PROGRAM, "mcp", "-e", f"RESTANTE_URL={URL}", "-e", f"RESTANTE_API_KEY={KEY}"]


def inspect(transport, method, *arguments):
    """The answer of a request, and the exit code."""
    command = ["node", INSPECTOR, "--cli", *transport, "--method", method, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
    try:
        return json.loads(done.stdout), done.returncode
    except json.JSONDecodeError as error:
        raise AssertionError(f"{command}: {done.stdout}{done.stderr}") from error


def call(transport, tool, **arguments):
    """The structured answer of a tool that succeeds."""
    answer = raw(transport, tool, arguments)
    assert not answer.get("isError"), answer
    assert answer["content"][0]["type"] == "text", answer
    return answer["structuredContent"]


def raw(transport, tool, arguments):
    pairs = [f"{name}={value}" for name, value in arguments.items()]
    given = ["--tool-arg", *pairs] if pairs else []
    return inspect(transport, "tools/call", "--tool-name", tool, *given)[0]


def session(transport):
    tools, code = inspect(transport, "tools/list", "--strict")
    assert (code, {tool["name"] for tool in tools["tools"]}) == (0, TOOLS), (code, tools)
    inbox = call(transport, "create_inbox")
    application_sends(inbox["address"], "Welcome", "Your code is 482913.")
    waited = call(transport, "wait_for_message", inbox=inbox["id"], timeout_seconds=20)
    assert waited["message"]["otp"] == "482913", waited
    application_sends(inbox["address"].replace("@", "x@", 1), "Your order", "Thank you.")
    after = waited["message"]["id"]
    missing = call(transport, "wait_for_message", inbox=inbox["id"], after=after, timeout_seconds=0)
    assert missing["explanation"]["similar"][0]["messages"] == 1, missing
    refused = raw(transport, "delete_inbox", {"inbox": "nobody"})
    assert refused["isError"] and "create_inbox" in refused["content"][0]["text"], refused


if __name__ == "__main__":
    with ThreadPoolExecutor() as both:
        for done in [both.submit(session, transport) for transport in (HTTP, STDIO)]:
            done.result()
    print("passed")
