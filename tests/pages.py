"""The written pages, and what a test wants of them: code blocks, headings, links."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(ROOT.glob("docs/*.md"))


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def programs(page: Path) -> dict[str, str]:
    """File name -> text: blocks that begin with a comment `# name.py` are files, the others together are main.py."""
    files, main = {}, []
    for block in blocks(page, "python"):
        name = re.match(r"# (\w+\.py)\n", block)
        if name:
            files[name[1]] = block
        else:
            main.append(block)
    return {**files, "main.py": "\n".join(main)}


def commands(page: Path) -> list[tuple[str, str]]:
    """What the page has behind `$` (and, in the lines below, `>`), and what it shows as printed."""
    text = "".join(blocks(page, "console"))
    found = re.findall(r"^\$ (.*(?:\n> .*)*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)
    return [(command.replace("\n> ", "\n"), output) for command, output in found]


def prose(page: Path) -> str:
    """The text without fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> list[str]:
    """What links to the headings end in, as GitHub makes it."""
    made: list[str] = []
    for heading in re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        before = sum(re.fullmatch(rf"{re.escape(plain)}(-\d+)?", other) is not None for other in made)
        made.append(f"{plain}-{before}" if before else plain)
    return made


def links(page: Path) -> list[str]:
    """Targets of the links that stay inside the project."""
    return [target for target in re.findall(r"\]\(([^)]+)\)", prose(page)) if "://" not in target]
