#!/usr/bin/env python3
"""Makes caniemail.txt from the data set of caniemail.com.

    npm pack caniemail && tar -xzf caniemail-*.tgz
    crates/mail/data/reduce.py package/dist/data/caniemail.json > crates/mail/data/caniemail.txt
"""

import json
import sys
import textwrap

ELEMENTS = """
abbr acronym address audio base bdi blockquote body code del dfn dialog div form hr img link marquee
meter object p picture pre progress rp rt ruby select small span strike strong style svg table
textarea video wbr
""".split()

ATTRIBUTES = """
align aria-describedby aria-hidden aria-label aria-labelledby aria-live background cellpadding
cellspacing dir height hidden lang popover required role srcset target valign width
""".split()

# Features that names alone do not show.
LEFT_OUT = """
amp bimi css-border-inline-block-individual css-border-inline-block-longhand css-display
css-selector-chaining css-selector-class css-selector-descendant css-selector-grouping
css-selector-id css-selector-type image-hdr
""".split()

# What the other features are recognised by, if it is not their own name.
NAMES = {
    "html-h1-h6": "el:h1 el:h2 el:h3 el:h4 el:h5 el:h6",
    "html-lists": "el:ul el:ol el:li el:dl",
    "html-loading-attribute": "attr:loading",
    "html-button-reset": "el:button[reset]",
    "html-button-submit": "el:button[submit]",
    "html-image-maps": "el:map attr:usemap",
    "html-input-checkbox": "el:input[checkbox]",
    "html-input-hidden": "el:input[hidden]",
    "html-input-radio": "el:input[radio]",
    "html-input-reset": "el:input[reset]",
    "html-input-submit": "el:input[submit]",
    "html-input-text": "el:input[text]",
    "html-semantics": (
        "el:article el:aside el:details el:figcaption el:figure el:footer el:header el:main el:mark "
        "el:nav el:section el:summary el:time"
    ),
    "html-meta-color-scheme": "meta:color-scheme",
    "html-anchor-links": "href:#",
    "html-mailto-links": "href:mailto",
    "html-doctype": "doctype",
    "html-comments": "comment",
    "css-at-font-face": "at:font-face",
    "css-at-import": "at:import",
    "css-at-keyframes": "at:keyframes",
    "css-at-media": "at:media",
    "css-at-supports": "at:supports",
    "css-at-media-device-pixel-ratio": "media:device-pixel-ratio",
    "css-at-media-hover": "media:hover",
    "css-at-media-orientation": "media:orientation",
    "css-at-media-prefers-color-scheme": "media:prefers-color-scheme",
    "css-at-media-prefers-reduced-motion": "media:prefers-reduced-motion",
    "css-display-flex": "val:display:flex val:display:inline-flex",
    "css-display-grid": "val:display:grid val:display:inline-grid",
    "css-display-none": "val:display:none",
    "css-function-clamp": "fn:clamp",
    "css-function-light-dark": "fn:light-dark",
    "css-function-max": "fn:max",
    "css-function-min": "fn:min",
    "css-unit-calc": "fn:calc",
    "css-rgb": "fn:rgb",
    "css-rgba": "fn:rgba",
    "css-modern-color": "fn:oklch fn:oklab fn:lab fn:lch fn:color",
    "css-linear-gradient": "fn:linear-gradient",
    "css-radial-gradient": "fn:radial-gradient",
    "css-conic-gradient": "fn:conic-gradient",
    "css-variables": "fn:var",
    "css-important": "important",
    "css-comments": "css-comment",
    "css-unit-percent": "unit:%",
    "css-unit-initial": "val:initial",
    "css-left-right-top-bottom": "prop:left prop:right prop:top prop:bottom",
    "css-border-inline-block": "prop:border-inline prop:border-block",
    "css-border-radius-logical": "prop:border-start-start-radius prop:border-end-end-radius",
    "css-border": "prop:border prop:border-top prop:border-bottom prop:border-left prop:border-right",
    "css-margin": "prop:margin prop:margin-top prop:margin-bottom prop:margin-left prop:margin-right",
    "css-padding": "prop:padding prop:padding-top prop:padding-bottom prop:padding-left prop:padding-right",
    "css-margin-inline-block": "prop:margin-inline prop:margin-block",
    "css-padding-inline-block": "prop:padding-inline prop:padding-block",
    "css-margin-block-start-end": "prop:margin-block-start prop:margin-block-end",
    "css-margin-inline-start-end": "prop:margin-inline-start prop:margin-inline-end",
    "css-padding-block-start-end": "prop:padding-block-start prop:padding-block-end",
    "css-padding-inline-start-end": "prop:padding-inline-start prop:padding-inline-end",
    "css-block-inline-size": "prop:block-size",
    "css-inline-size": "prop:inline-size",
    "css-flex-direction": "prop:flex-direction",
    "css-column-layout-properties": "prop:columns prop:column-gap prop:column-rule",
    "css-grid-template": (
        "prop:grid-template prop:grid-template-columns prop:grid-template-rows "
        "prop:grid-template-areas"
    ),
    "css-scroll-snap": "prop:scroll-snap-type prop:scroll-snap-align",
    "css-intrinsic-size": "val:min-content val:max-content val:fit-content",
    "css-sytem-ui": "val:system-ui",
    "css-nesting": "nesting",
    "image-jpg": "img:jpg img:jpeg",
    "image-base64": "img:data",
    "image-heif": "img:heif img:heic",
    "css-selector-adjacent-sibling": "sel:+",
    "css-selector-attribute": "sel:[",
    "css-selector-child": "sel:>",
    "css-selector-general-sibling": "sel:~",
    "css-selector-universal": "sel:*",
}

HEAD = """# How far mail clients support HTML and CSS: the data of caniemail.com of {date}, reduced.
# Its licence is in LICENSE-caniemail; reduce.py made this file. First the clients, then each feature: its name there
# and one letter a client (y yes, a partly, n no, u not known), its title, and what it is recognised by in a mail."""


def names(slug):
    """What a feature is recognised by; nothing if it is left out."""
    kind, _, name = slug.partition("-")
    if slug in LEFT_OUT:
        return ""
    if slug in NAMES:
        return NAMES[slug]
    if kind == "html":
        return {**dict.fromkeys(ELEMENTS, "el:"), **dict.fromkeys(ATTRIBUTES, "attr:")}[name] + name
    if kind == "image":
        return "img:" + name
    for start, prefix in [("pseudo-class-", "pseudo:"), ("pseudo-element-", "pseudo:"), ("unit-", "unit:")]:
        if name.startswith(start):
            return prefix + name.removeprefix(start)
    return "prop:" + name


def main(path):
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    families, platforms = data["nicenames"]["family"], data["nicenames"]["platform"]
    clients = {(family, platform) for one in data["data"] for family, on in one["stats"].items() for platform in on}
    clients = sorted(clients)
    print(HEAD.format(date=data["last_update_date"][:10]))
    for family, platform in clients:
        print(f"client {families[family]} ({platforms[platform]})")
    for one in sorted(data["data"], key=lambda one: one["slug"]):
        wanted = names(one["slug"])
        if not wanted:
            continue
        versions = [list(one["stats"].get(family, {}).get(platform, {}).values()) for family, platform in clients]
        letters = [results[-1][0].lower() if results else "u" for results in versions]
        print("feature", one["slug"], "".join(letter if letter in "yan" else "u" for letter in letters))
        print("title", one["title"])
        for line in textwrap.wrap(wanted, 110):
            print("by", line)


if __name__ == "__main__":
    main(sys.argv[1])
