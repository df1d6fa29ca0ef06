"""A page as its reader gets it: well-formed HTML, read by the standard library's parser."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Self

_VOID = {"meta", "br", "hr", "img", "input", "link"}


@dataclass
class Tag:
    name: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """The elements of a page, in order, with all the text inside each of them."""

    tags: list[Tag] = field(default_factory=list)
    open: list[Tag] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    @classmethod
    def parse(cls, text: str) -> Self:
        page = cls()
        page.feed(text)
        page.close()
        page.mistakes += [f"<{tag.name}> is not closed" for tag in page.open]
        return page

    @classmethod
    def read(cls, path: Path) -> Self:
        return cls.parse(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if len({name for name, _ in attrs}) != len(attrs):
            self.mistakes.append(f"<{tag}> has an attribute twice")
        made = Tag(tag, {name: value or "" for name, value in attrs})
        self.tags.append(made)
        if tag not in _VOID:
            self.open.append(made)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1].name != tag:
            self.mistakes.append(f"</{tag}> closes {self.open[-1].name if self.open else 'nothing'}")
            return
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for tag in self.open:
            tag.text += data

    def all(self, name: str) -> list[Tag]:
        return [tag for tag in self.tags if tag.name == name]

    def texts(self, name: str) -> list[str]:
        return [tag.text for tag in self.all(name)]

    def section(self, title: str) -> str:
        """The text of the section with a title."""
        [found] = [tag.text for tag in self.all("section") if tag.text.startswith(title)]
        return found.removeprefix(title)

    @property
    def cards(self) -> list[str]:
        return [tag.text for tag in self.all("div") if tag.attributes.get("class") == "card"]

    @property
    def references(self) -> list[str]:
        """What a browser would fetch or open, but for places inside of the page."""
        names = ("src", "href", "xlink:href", "srcset", "action", "data", "poster")
        found = [tag.attributes[name] for tag in self.tags for name in names if name in tag.attributes]
        style = " ".join(self.texts("style") + [tag.attributes.get("style", "") for tag in self.tags])
        return [each for each in found if not each.startswith("#")] + [
            each for each in ("url(", "@import") if each in style
        ]
