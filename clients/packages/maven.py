#!/usr/bin/env python3
"""Packs the server's program for this platform as a Maven artifact: a jar, a pom, and what else Maven Central wants.

    maven.py BINARY OUT      BINARY: the program, built for this platform; OUT: the directory for the files
"""

import platform
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PARENT = (ROOT / "clients/java/pom.xml").read_text()
GROUP = "io.github.restante"
SYSTEMS = {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}
LICENSES = ("LICENSE-APACHE", "LICENSE-MIT")
# The oldest time of a zip file, so that the same content makes the same file.
TIME = (1980, 1, 1, 0, 0, 0)


def between(text, start, end):
    """The part of a text from a mark to another one, with both."""
    return start + text.split(start, 1)[1].split(end, 1)[0] + end


def pom(artifact, version):
    """The pom, with what Maven Central wants taken from that of the client."""
    shared = "\n  ".join(
        between(PARENT, f"<{name}>", f"</{name}>") for name in ("url", "licenses", "developers", "scm")
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>{GROUP}</groupId>
  <artifactId>{artifact}</artifactId>
  <version>{version}</version>
  <name>{artifact}</name>
  <description>The server of Restante as a resource, for tests</description>
  {shared}
</project>
"""


def pack(path, files):
    """Writes a jar with these contents."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as jar:
        for name, content in files.items():
            jar.writestr(zipfile.ZipInfo(name, TIME), content, zipfile.ZIP_DEFLATED)
    print(path)


def main():
    """Writes the files of the artifact."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    binary, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    architecture = "arm64" if platform.machine().lower() in ("aarch64", "arm64") else "x64"
    name = f"{SYSTEMS[platform.system()]}-{architecture}"
    artifact, version = f"restante-server-{name}", between(PARENT, "<version>", "</version>")[9:-10]
    program = "restante.exe" if platform.system() == "Windows" else "restante"
    licenses = {f"META-INF/{license}": (ROOT / license).read_text() for license in LICENSES}
    note = {"README.md": "This artifact contains only a program. Its sources are in the repository.\n"}
    base = out / f"{artifact}-{version}"
    pack(f"{base}.jar", {f"restante-server/{name}/{program}": binary.read_bytes(), **licenses})
    for kind in ("sources", "javadoc"):
        pack(f"{base}-{kind}.jar", {**note, **licenses})
    Path(f"{base}.pom").write_text(pom(artifact, version))


main()
