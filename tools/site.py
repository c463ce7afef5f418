#!/usr/bin/env python3
"""site.py PROGRAM TO: the documents as a site, by mkdocs. Pages of docs/, README and CHANGELOG as they are; the options of every command
from its help, the C reference from the headers, the Python reference from docstrings. Every link is followed to its file and its heading."""
import ast
import html.parser
import os
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAV = [("Home", "index.md"), ("Start in five minutes", "start.md"),
       ("Use", [("Which method for whom", "methods.md"), ("Bring your data", "data.md"), ("Bring your network", "network.md"),
                ("Kernels", "kernels.md"), ("Closed forms", "closed-forms.md"), ("Representations", "representations.md"),
                ("Look at an embedding", "explore.md"), ("The pages", "pages.md"), ("Reports", "report.md"), ("Several machines", "scale.md"),
                ("Python", "python.md"), ("C", "library.md"), ("Questions", "faq.md"), ("Glossary", "glossary.md")]),
       ("Science", [("The papers", "bibliography.md"), ("Findings", "findings.md"), ("WIDE, statement by statement", "papers/wide.md"),
                    ("LINEAR, statement by statement", "papers/linear.md"),
                    ("OPTIMA, statement by statement", "papers/optima.md"), ("TANGENT, statement by statement", "papers/tangent.md"),
                    ("Every claim", "reproduce/README.md"), ("Theory", "theory.md")]),
       ("Trust", [("Performance", "performance.md"), ("Reliability", "reliability.md"), ("Threats", "threats.md"),
                  ("Dependencies", "dependencies.md")]),
       ("Reference", [("Commands", "reference/commands.md"), ("C", "reference/c.md"), ("Python", "reference/python.md")]),
       ("Project", [("Release notes", "release-notes.md"), ("Contributing", "contributing.md"), ("Architecture", "architecture.md")])]
# documents of the repository that lie elsewhere on the site
MOVED = {"README.md": "index.md", "CHANGELOG.md": "release-notes.md", "CONTRIBUTING.md": "contributing.md"}
NOTES = {"docs/README.md", "docs/papers/README.md"}  # what a folder holds, for those who see the folder


def place(path):
    """Where a file of the repository is on the site; None: it is not."""
    return MOVED.get(path) or (path[5:] if path.startswith("docs/") and (ROOT / path).is_file() else None)


def to_site(text, source):
    """Links as the site has them; a file of the repository that is not on it is named in its text. What is not there is an error."""
    here = place(source)

    def link(match):
        picture, words, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match.group()
        path, _, heading = target.partition("#")
        full = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if not (ROOT / full).exists():
            sys.exit(f"{source}: there is no {target}")
        if place(full) is None:
            return f"{words} (`{full}`)"
        way = posixpath.relpath(place(full), posixpath.dirname(here) or ".")
        return f"{picture}[{words}]({way}{'#' + heading if heading else ''})"

    parts = re.split(r"(```.*?```|`[^`\n]+`\s)", text, flags=re.S)  # code is left alone
    return "".join(p if i % 2 else re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", link, p) for i, p in enumerate(parts))


def copy_documents(to):
    for path in [*sorted((ROOT / "docs").rglob("*")), *(ROOT / name for name in MOVED)]:
        name = path.relative_to(ROOT).as_posix()
        if not path.is_file() or path.suffix == ".json" or name in NOTES:
            continue
        target = to / place(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            target.write_text(to_site(path.read_text(), name))
        else:
            shutil.copy(path, target)


def commands(program):
    """Every command, as its own help has it."""
    def ask(*words):
        return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout

    names = list(dict.fromkeys(re.findall(r"^  eigenpair (\w+)  ?", ask(), re.M)))
    pages = ["# Commands\n\nWhat `eigenpair help COMMAND` prints; the same as man pages.\n\n```text\n" + ask() + "```\n"]
    for name in names:
        text = ask("help", name)
        first, rest = text.split("\n", 1)
        pages.append(f"## {name}\n\n{first.split(': ', 1)[1]}\n\n```text\n{rest.strip(chr(10))}\n```\n")
    return "\n".join(pages)


def prose(comment):
    """A comment without its stars, as it is laid out."""
    text = re.sub(r"^/\*+ ?|\s*\*+/$", "", comment.strip())
    return "\n".join(re.sub(r"^\s*\* ?", "", line) for line in text.split("\n")).strip()


def header(path):
    """A section of the C reference: what stands above a declaration, then the declaration."""
    text = path.read_text().replace("#pragma once\n", "")
    head = re.match(r"\s*(/\*.*?\*/)", text, re.S)
    body = re.sub(r"^#include.*\n|^EP_(BEGIN|END)\n", "", text[head.end() if head else 0:], flags=re.M)
    parts = [f"## {path.name}\n"]
    if head:
        parts.append(f"```text\n{prose(head.group(1))}\n```\n")
    for chunk in re.split(r"\n\s*\n", body):
        if chunk.strip():
            parts.append(f"```c\n{chunk.strip(chr(10))}\n```\n")
    return "\n".join(parts), re.findall(r"\b(ep_[a-z0-9_]+)\(", re.sub(r"/\*.*?\*/", "", body, flags=re.S))


def c_reference():
    """All public headers, and an index of what can be called."""
    index, sections = [], []
    for path in sorted((ROOT / "include/eigenpair").glob("*.h")):
        section, functions = header(path)
        sections.append(section)
        anchor = path.name.replace(".", "")
        if functions:
            index.append(f"| [{path.name}](#{anchor}) | {', '.join(f'`{f}`' for f in dict.fromkeys(functions))} |")
    return ("# C reference\n\nFrom the headers; [the library](../library.md) has the ideas and the rules of ownership.\n\n"
            "| header | functions |\n|---|---|\n" + "\n".join(index) + "\n\n" + "\n".join(sections))


def python_names():
    """name -> file, as the module itself has it"""
    tree = ast.parse((ROOT / "python/eigenpair/__init__.py").read_text())
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "_WHERE":
            return ast.literal_eval(node.value)
    sys.exit("python/eigenpair/__init__.py has no table of names")


def docstring(node):
    """also of a class whose docstring is put together: what is in it of plain text"""
    if ast.get_docstring(node):
        return ast.get_docstring(node)
    for item in node.body:
        if isinstance(item, ast.Assign) and getattr(item.targets[0], "id", "") == "__doc__":
            values = item.value.values if isinstance(item.value, ast.JoinedStr) else [item.value]
            texts = [v.value if isinstance(v, ast.Constant) else "every option of `eigenpair fit`, see Commands" for v in values]
            return re.sub(r"^    ", "", "".join(texts), flags=re.M)
    return ""


def signature(node):
    arguments = node.args
    return f"{node.name}({ast.unparse(arguments).replace('self, ', '').replace('self', '')})"


def python_reference():
    out = ["# Python reference\n\nFrom the docstrings; [the module](../python.md) has the ideas.\n"]
    for name, file in python_names().items():
        tree = ast.parse((ROOT / f"python/eigenpair/{file}.py").read_text())
        node = next(n for n in tree.body if getattr(n, "name", None) == name)
        is_class = isinstance(node, ast.ClassDef)
        shown = f"class eigenpair.{name}" if is_class else f"eigenpair.{signature(node)}"
        out.append(f"## {name}\n\n```python\n{shown}\n```\n\n```text\n{docstring(node)}\n```\n")
        for method in node.body if is_class else []:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_") and ast.get_docstring(method):
                out.append(f"### {name}.{method.name}\n\n```python\n{signature(method)}\n```\n\n```text\n{docstring(method)}\n```\n")
    return "\n".join(out)


class Page(html.parser.HTMLParser):
    """Where a page can be entered, and where it leads."""

    def __init__(self, path):
        super().__init__()
        self.places, self.links = {""}, []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.places |= {attrs.get("id"), attrs.get("name")}
        for key in "href", "src":
            if attrs.get(key):
                self.links.append(attrs[key])


def check_links(site):
    pages = {p: Page(p) for p in site.rglob("*.html")}
    bad, count = [], 0
    for path, page in pages.items():
        if path.name == "404.html":  # has links from the root of a server
            continue
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            count += 1
            target = path if not url.path else (path.parent / urllib.parse.unquote(url.path)).resolve()
            there = target.is_file() or (target / "index.html").is_file()
            if there and url.fragment and target in pages:
                there = urllib.parse.unquote(url.fragment) in pages[target].places
            if not there:
                bad.append(f"{path.relative_to(site)}: {link} leads nowhere")
    if bad or count < 500:
        sys.exit("\n".join(sorted(set(bad))) or f"only {count} links were found")
    return len(pages), count


def write_nav(items, indent="  "):
    lines = []
    for title, target in items:
        if isinstance(target, str):
            lines.append(f'{indent}- "{title}": {target}')
        else:
            lines += [f'{indent}- "{title}":', write_nav(target, indent + "    ")]
    return "\n".join(lines)


def main(program, to):
    work = to.parent / (to.name + "-source")
    shutil.rmtree(work, ignore_errors=True)
    (work / "docs/reference").mkdir(parents=True)
    copy_documents(work / "docs")
    for name, text in ("commands", commands(program)), ("c", c_reference()), ("python", python_reference()):
        (work / f"docs/reference/{name}.md").write_text(text)
    (work / "mkdocs.yml").write_text(
        f"site_name: eigenpair\nsite_dir: {to.resolve()}\nuse_directory_urls: false\ntheme:\n  name: readthedocs\n  highlightjs: false\n"
        "  navigation_depth: 2\n"
        f"extra_css: [site.css]\nplugins: [search]\nmarkdown_extensions:\n  - toc:\n      permalink: false\nnav:\n{write_nav(NAV)}\n")
    shutil.copy(ROOT / "tools/site.css", work / "docs/site.css")
    # Debian's mkdocs has jquery under another name, and not the script that gives tables their class
    (work / "docs/js").mkdir()
    shutil.copy("/usr/share/javascript/jquery/jquery.min.js", work / "docs/js/jquery-3.6.0.min.js")
    (work / "docs/js/theme_extra.js").write_text("document.querySelectorAll('table').forEach(t => t.classList.add('docutils'));\n")
    env = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    subprocess.run(["/usr/bin/mkdocs", "build", "--quiet", "--strict", "-f", str(work / "mkdocs.yml")], check=True, env=env)
    pages, links = check_links(to.resolve())
    print(f"site: {pages} pages, {links} links, all lead somewhere: {to}/index.html")


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]))
