"""The application in a thread, and the browser."""

import os
import threading

import pytest
from application import create_app
from werkzeug.serving import make_server


@pytest.fixture(scope="session")
def base_url(restante):
    server = make_server("127.0.0.1", 0, create_app(restante.smtp.host, restante.smtp.port), threaded=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    # CHROMIUM=/usr/bin/chromium takes a browser that is there already; by default it is that of `playwright install`.
    return {
        **browser_type_launch_args,
        "executable_path": os.environ.get("CHROMIUM"),
        "args": [
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
        ],
    }
