"""A hook of MkDocs: the front page, the guide with the defaults of a server, and the icon, the colours and the scripts of the site.

The front page is the beginning of the repository's README, up to the first tests, and then the index of the documents.
"""

import re
from pathlib import Path

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
ASSETS = {
    "assets/icon.svg": ROOT / "static/icon.svg",
    "assets/restante.css": ROOT / "site/restante.css",
    "assets/search.js": ROOT / "site/search.js",
}
# What a server on the reader's machine fills in; the settings have the other values.
ADDRESSES = {
    "base_url": "http://127.0.0.1:8025",
    "smtp_address": "127.0.0.1:1025",
    "smtp_host": "127.0.0.1",
    "smtp_port": "1025",
    "accepted_domains": "No other domain is accepted",
}
SETTINGS = {
    "mail_domain": "--mail-domain",
    "inbox_lifetime": "--inbox-lifetime",
    "message_size": "--max-message-size",
    "inbox_messages": "--max-inbox-messages",
    "body_size": "--max-body",
    "send_body_size": "--max-send-body",
    "waits_per_key": "--waits-per-key",
    "sends_per_key": "--sends-per-key",
}


def on_files(files, config):
    for place, source in ASSETS.items():
        files.append(File.generated(config, place, abs_src_path=str(source)))
    return files


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri == "README.md":
        # Its own heading and first paragraph say what the README says.
        return start_of_readme() + markdown[markdown.index("\n## ") :].replace("\n## Start\n", "\n## All pages\n", 1)
    if page.file.src_uri == "guide.md":
        return filled_in(markdown)
    return markdown


def start_of_readme():
    """What the repository's README says up to its tests, with its links as seen from docs/."""
    text = (ROOT / "README.md").read_text()
    text = text[: text.index("\n## From a checkout")]
    return re.sub(r"(\]\()(?!https?:)([^)]+\))", lambda link: link[1] + seen_from_docs(link[2]), text)


def seen_from_docs(path):
    """A path of the repository, relative to docs/."""
    return path.removeprefix("docs/") if path.startswith("docs/") else f"../{path}"


def filled_in(markdown):
    """The guide with the addresses and the defaults of a server. A `{placeholder}` with a `_` is none of the API's."""
    reference = (ROOT / "docs/reference.md").read_text()
    values = dict(ADDRESSES)
    for name, flag in SETTINGS.items():
        values[name] = re.search(rf"^\| `{flag} [^|]*\|[^|]*\| `([^`]+)` \|", reference, re.MULTILINE)[1]
    for name, value in values.items():
        markdown = markdown.replace(f"{{{name}}}", value)
    if left := re.search(r"(?<![{$])\{[a-z]+(?:_[a-z]+)+\}", markdown):
        raise PluginError(f"guide.md has {left[0]}, which site/pages.py does not fill in")
    note = "A server shows this page at `/llm`, with its own addresses; here it has the defaults.\n\n"
    return re.sub(r"^(# .*\n\n)", lambda heading: heading[1] + note, markdown, count=1)
