"""A hook of MkDocs: links to files outside of docs/ lead to the repository.

On GitHub, such a link (`../clients/python/README.md`) works as it is. On the site there is no such page. A link to a
file that does not exist stays as it is, so that the build reports it.
"""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")


def on_page_markdown(markdown, page, config, files):
    def to_repository(found):
        before, target, anchor, after = found[1], found[2], found[3] or "", found[4]
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), target))
        inside = path.startswith("docs/") and not path.endswith(".json")
        if "://" in target or inside or not (ROOT / path).exists():
            return found[0]
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"{before}{config.repo_url.rstrip('/')}/{kind}/main/{path}{anchor}{after}"

    return LINK.sub(to_repository, markdown)
