"""Sentences for a text that is not YAML: PyYAML's messages name what it expected, and not what to do.

PyYAML reports many mistakes at a later line, so the sentence names the line where the mistake is.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import yaml

from qtj.terminal.text import visible

__all__ = ["explained", "line_breaks"]

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""What PyYAML counts as a line break."""
_NO_SPACE = re.compile(r"\s*(?:- +)*[\w./-]+:(?!//)[^\s:]")
"""A field whose value follows its colon without a space."""
_CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ")
_CLOSING = {"[": "]", "{": "}"}

Sentence: TypeAlias = tuple[int, str]
"""A line, from 0, and a sentence."""


@dataclass(frozen=True, slots=True)
class _Error:
    """An error of PyYAML.

    Attributes:
        lines: The lines of the file that were read so far; those before the document are empty.
        message: What PyYAML was reading, and its problem: "CONTEXT: PROBLEM".
        noticed: The place where it noticed the mistake.
        began: The place where the context begins; the same place if there is no context.
    """

    lines: Sequence[str]
    message: str
    noticed: yaml.Mark
    began: yaml.Mark

    @property
    def line(self) -> int:
        """The line on which it was noticed, from 0, as all lines."""
        return self.noticed.line

    @property
    def before(self) -> str:
        """The part of that line before the place."""
        return self._at(self.noticed)[: self.noticed.column]

    @property
    def found(self) -> str:
        """The rest of that line, from the place on."""
        return self._at(self.noticed)[self.noticed.column :]

    @property
    def opening(self) -> str:
        """The rest of the line where the context begins, from its place on."""
        return self._at(self.began)[self.began.column :]

    @property
    def above(self) -> tuple[int, str]:
        """The nearest line above that is neither empty nor a comment; without one, the line itself, as empty."""
        lines = ((number, self.lines[number]) for number in range(min(self.line, len(self.lines)) - 1, -1, -1))
        return next(((n, line) for n, line in lines if line.strip() and line.lstrip()[0] != "#"), (self.line, ""))

    def _at(self, mark: yaml.Mark) -> str:
        return self.lines[mark.line] if mark.line < len(self.lines) else ""


def line_breaks(text: str) -> int:
    """Returns the number of line breaks in a text, as PyYAML counts them."""
    return len(_BREAK.findall(text))


def explained(error: yaml.YAMLError, text: str, before: int) -> Sentence:
    """Returns the line of a mistake in its file, from 0, and the sentence on it.

    Args:
        error: PyYAML's error.
        text: The text that it has read.
        before: Lines of the file before that text, which the error counts.
    """
    if isinstance(error, yaml.reader.ReaderError):
        what = f"this holds the character U+{int(error.character):04X}, which YAML does not allow: remove it"
        return before + line_breaks(text[: int(error.position)]), what
    noticed = isinstance(error, yaml.MarkedYAMLError) and (error.problem_mark or error.context_mark)
    if not isinstance(error, yaml.MarkedYAMLError) or not noticed:
        return before, f"this is not YAML: {visible(str(error))}"
    lines = [""] * before + _BREAK.split(text)
    message = f"{error.context or ''}: {error.problem or ''}"
    line, sentence = _sentence(_Error(lines, message, noticed, error.context_mark or noticed))
    return line, f"this is not YAML: {visible(sentence)}"


def _sentence(error: _Error) -> Sentence:
    if any(line.startswith(_CONFLICT) for line in (error.before + error.found, error.above[1])):
        return error.line, "this is a line of a merge conflict: keep one of the two versions"
    for pattern, rule in _RULES:
        if match := re.search(pattern, error.message):
            if callable(rule):
                return rule(error)
            return error.line, rule.format(found=error.found[:1], began=error.opening[:1], **match.groupdict())
    return error.line, f"{error.message.partition(': ')[2]}: correct this line, or the one above it"


def _second_colon(error: _Error) -> Sentence:
    """Explains a colon too many: on its line, or because the line above lacks one."""
    number, above = error.above
    if re.search(r":\s", error.before) or not above:
        return error.line, "a second colon in one line: put the value in quotes, or begin a new line"
    if _NO_SPACE.match(above):
        return number, "a colon without a space after it: write NAME: VALUE"
    if not re.search(r":(\s|$)", above):
        return number, f"there is no colon in this line, and the next one has fields: write {above.strip()[:40]}:"
    return error.line, "this is indented further than the field above it, which has a value: line the two up"


def _no_colon(error: _Error) -> Sentence:
    line = error.began.line
    if _NO_SPACE.match(error.opening):
        return line, "a colon without a space after it: write NAME: VALUE"
    if re.match(r"-[^\s-]", error.opening):
        return line, "a dash without a space after it: write - VALUE"
    return line, "there is no colon in this line: write NAME: VALUE, or indent it as text of the line above"


def _unclosed_quote(error: _Error) -> Sentence:
    return error.began.line, f"the quote {error.opening[:1]} that begins in this line has no end: close it"


def _end_of_block(error: _Error) -> Sentence:
    """Explains text at a place where a block of fields or a list has to continue or end."""
    number, above = error.above
    open_quote = next((each for each in "\"'" if above.count(each) % 2), None)
    if open_quote and open_quote in error.before:  # which closes the quote of the line above
        return number, "the quote that begins in this line does not end in it: close it"
    found = error.found[:1]
    opening = next((each for each, closing in _CLOSING.items() if closing == found), None)
    if opening:
        return error.line, f"this {found} closes nothing: remove it, or write the {opening} that it belongs to"
    if found == ":":
        return error.line, "there is no name before the colon: write one"
    if error.before.rstrip().endswith(("'", '"')):
        return error.line, "there is text after the closing quote: put all of the value in quotes"
    return error.line, _misplaced(error)


def _misplaced(error: _Error) -> str:
    """Explains a line that begins in the wrong column."""
    if re.match(r"-\s|-$", error.found):
        return "this dash does not line up with a list above it: indent it as the other elements are"
    if error.found.startswith("-"):
        return "a dash without a space after it: write - VALUE"
    if "collection" in error.message and error.message.endswith("'?'"):
        return "a field is where an element of the list has to be: begin it with - , or indent it"
    return "the indentation of this line matches no line above it: line it up with the fields that it belongs to"


def _flow(error: _Error) -> Sentence:
    """Explains a bracket without its end, or something in it without a comma."""
    begin, opening = _last_open(error)
    closing, found = _CLOSING[opening], error.found[:1]
    if found in _CLOSING.values():
        return error.line, f"this {found} closes a {opening}: write {closing}"
    if found == ",":
        return error.line, "there is no value before this comma: write one, or remove the comma"
    if "<" in error.message and "scalar" not in error.message:
        return begin, f"the {opening} that begins in this line has no end: close it with {closing}"
    number, above = error.above
    if error.line > begin and not above.rstrip().endswith((",", opening)):
        return number, f"there is no comma at the end of this line, and no {closing}: write one of them"
    return error.line, f"a comma is missing here, or the {closing} before it: write it"


def _last_open(error: _Error) -> tuple[int, str]:
    """Returns the line and the bracket that is open: PyYAML may name the place of a value in the bracket instead."""
    if error.opening[:1] in _CLOSING:
        return error.began.line, error.opening[0]
    closed = 0
    for number in range(min(error.began.line, len(error.lines) - 1), -1, -1):
        line = error.lines[number][: error.began.column if number == error.began.line else None]
        for letter in reversed(line):
            closed += (letter in _CLOSING.values()) - (letter in _CLOSING)
            if closed < 0:
                return number, letter
    return error.began.line, "["


def _another_document(error: _Error) -> Sentence:
    if any(line.startswith("{{") for line in (error.opening, *error.lines)):
        return error.line, "a line with {{ }} is not YAML: fill in the template first"
    return error.line, "this is indented less than the first line of the document: line the two up"


_ESCAPE = r"write \\ for a backslash, or put the value in single quotes"

_RULES: Sequence[tuple[str, str | Callable[[_Error], Sentence]]] = (
    (r"found character '\\t'", "a tab is where only spaces are allowed: put spaces in its place"),
    ("that cannot start any token", "a value cannot begin with {found}: put it in quotes"),
    ("mapping values are not allowed", _second_colon),
    ("could not find expected ':'", _no_colon),
    ("while scanning a quoted scalar", _unclosed_quote),
    ("while parsing a flow", _flow),
    ("expected <block end>", _end_of_block),
    ("sequence entries are not allowed", "a list begins on its own line: move the dash to the next line"),
    (
        "found undefined alias '(?P<name>.*)'",
        'no value before it has the anchor &{name}: write the value, or put "*{name}" in quotes',
    ),
    (
        "duplicate anchor '(?P<name>[^']*)'",
        "the anchor &{name} is given twice: give one of them another name",
    ),
    (
        "while (scanning an (alias|anchor)|(parsing|scanning) a tag)",
        "a value cannot begin with {began}: put it in quotes",
    ),
    ("while scanning a block scalar", "after | and > the text begins in the next line: move it there"),
    ("found unknown escape", rf"in double quotes, \{{found}} has no meaning: {_ESCAPE}"),
    ("while scanning a double-quoted scalar", f"an escape is not complete: {_ESCAPE}"),
    ("expected the node content", "a value cannot begin with {found}: put it in quotes"),
    ("while scanning a directive", "a line cannot begin with %: put the value in quotes"),
    ("expected '<document start>'", _another_document),
)
"""Patterns for PyYAML's messages, in the order in which they are tried, and the sentence for each, or its function."""
