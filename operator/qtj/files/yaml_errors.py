"""What is wrong with a text that is not YAML, in plain words: PyYAML says what it expected, and not what to do.

PyYAML notices many mistakes lines later, so the sentence names the line where the mistake is.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import yaml

from qtj.terminal.text import visible

__all__ = ["explained", "line_breaks"]

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""What PyYAML counts as the end of a line."""
_NO_SPACE = re.compile(r"\s*(?:- +)*[\w./-]+:(?!//)[^\s:]")
"""A field whose value follows its colon without a space."""
_CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ")
_CLOSING = {"[": "]", "{": "}"}

Told: TypeAlias = tuple[int, str]
"""A line, from 0, and a sentence."""


@dataclass(frozen=True, slots=True)
class _Problem:
    """What PyYAML says of a mistake.

    Attributes:
        text: Lines of the text.
        said: Its words.
        context: Its words on what it was reading, empty without any.
        line: The line on which it noticed the mistake, from 0, as all lines.
        column: The column there.
        begin: Where that began which it was reading; the same place where it does not say.
        begin_column: The column there.
    """

    text: Sequence[str]
    said: str
    context: str
    line: int
    column: int
    begin: int
    begin_column: int

    @property
    def here(self) -> str:
        """The line."""
        return self._at(self.line)

    @property
    def opening(self) -> str:
        """The line where that began which it was reading."""
        return self._at(self.begin)

    @property
    def found(self) -> str:
        """The rest of the line, from where the mistake was noticed."""
        return self.here[self.column :]

    @property
    def above(self) -> tuple[int, str]:
        """The nearest line above that says something; the line itself where there is none."""
        lines = ((number, self._at(number)) for number in range(self.line - 1, -1, -1))
        return next(((n, line) for n, line in lines if line.strip() and line.lstrip()[0] != "#"), (self.line, ""))

    def _at(self, number: int) -> str:
        return self.text[number] if 0 <= number < len(self.text) else ""


def line_breaks(text: str) -> int:
    """Returns the number of ends of lines in a text, as PyYAML counts them."""
    return len(_BREAK.findall(text))


def explained(error: yaml.MarkedYAMLError, text: str, before: int) -> tuple[int, str]:
    """Returns the line of a mistake, from 0, and the sentence on it.

    Args:
        error: What PyYAML says.
        text: What it has read.
        before: Lines before that text, which the error counts.
    """
    noticed = error.problem_mark or error.context_mark
    begin = error.context_mark or noticed
    if noticed is None or begin is None:
        return before, f"this is not YAML: {error.problem}"
    problem = _Problem(
        text=_BREAK.split(text),
        said=error.problem or "",
        context=error.context or "",
        line=noticed.line - before,
        column=noticed.column,
        begin=begin.line - before,
        begin_column=begin.column,
    )
    line, sentence = _told(problem)
    return before + line, f"this is not YAML: {visible(sentence)}"


def _told(problem: _Problem) -> Told:
    if any(line.startswith(_CONFLICT) for line in (problem.here, problem.above[1])):
        return problem.line, "the lines of a merge conflict are left in it: keep one of the two versions"
    told = next((rule(problem) for words, rule in _RULES if words in f"{problem.context}: {problem.said}"), None)
    return told or (problem.line, f"{problem.said}: correct this line, or what stands before it")


def _first_letter(problem: _Problem) -> Told:
    letter = problem.found[:1]
    if letter == "\t":
        return problem.line, "a tab stands where only spaces may: put spaces in its place"
    return problem.line, f"a value cannot begin with {letter}: put it in quotes"


def _second_colon(problem: _Problem) -> Told:
    """Tells why a colon is one too many: on its line, or because the line above has no field of its own."""
    number, above = problem.above
    before = problem.here[: problem.column]
    if re.search(r":\s", before) or not above:
        return problem.line, "a second colon in one line: put the value in quotes, or begin a new line"
    if _NO_SPACE.match(above):
        return number, "a colon without a space after it: write NAME: VALUE"
    if not re.search(r":(\s|$)", above):
        return number, f"there is no colon in this line, and the next one has fields: write {above.strip()[:40]}:"
    return problem.line, "this is indented further than the field above it, which has a value: line the two up"


def _no_colon(problem: _Problem) -> Told:
    if _NO_SPACE.match(problem.opening):
        return problem.begin, "a colon without a space after it: write NAME: VALUE"
    if re.match(r"\s*-[^\s-]", problem.opening):
        return problem.begin, "a dash without a space after it: write - VALUE"
    return problem.begin, "there is no colon in this line: write NAME: VALUE, or indent it as text of the line above"


def _unfitting(problem: _Problem) -> Told:
    """Tells of what stands where a block of fields or a list was to go on or to end."""
    if _unclosed_above(problem):
        return problem.above[0], "the quote that begins in this line has no end there: close it"
    return problem.line, _stray(problem) or _misplaced(problem)


def _stray(problem: _Problem) -> str | None:
    """Tells of a sign that belongs to nothing."""
    found = problem.found[:1]
    opening = next((each for each, closing in _CLOSING.items() if closing == found), None)
    if opening:
        return f"this {found} closes nothing: remove it, or write the {opening} that it belongs to"
    if found == ":":
        return "there is no name before the colon: write one"
    if problem.here[: problem.column].rstrip().endswith(("'", '"')):
        return "there is something behind the closing quote: put all of the value in quotes"
    return None


def _misplaced(problem: _Problem) -> str:
    """Tells of a line that begins in the wrong column."""
    if re.match(r"-\s|-$", problem.found):
        return "this dash does not line up with a list above it: indent it as the other elements are"
    if problem.found.startswith("-"):
        return "a dash without a space after it: write - VALUE"
    if "collection" in problem.context and problem.said.endswith("'?'"):
        return "a field stands where an element of the list has to: begin it with - , or indent it"
    return "the indentation of this line fits no line above it: line it up with what it belongs to"


def _unclosed_above(problem: _Problem) -> bool:
    """Tells whether a quote of the line above ends only where this line has its first one."""
    quote = next((each for each in "\"'" if problem.above[1].count(each) % 2), None)
    return quote is not None and quote in problem.here[: problem.column]


def _unclosed_quote(problem: _Problem) -> Told:
    quote = problem.opening[problem.begin_column : problem.begin_column + 1]
    return problem.begin, f"the quote {quote} that begins in this line has no end: close it"


def _unclosed_bracket(problem: _Problem) -> Told:
    """Tells whether a bracket lacks its end, or something within it a comma."""
    begin, opening = _last_open(problem)
    closing = _CLOSING[opening]
    if problem.found[:1] in _CLOSING.values():
        return problem.line, f"this {problem.found[:1]} is to close a {opening}: write {closing}"
    if problem.found[:1] == ",":
        return problem.line, "there is no value before this comma: write one, or remove the comma"
    if "<" in problem.said and "scalar" not in problem.said:
        return begin, f"the {opening} that begins in this line has no end: close it with {closing}"
    if problem.line > begin and not problem.above[1].rstrip().endswith((",", opening)):
        return problem.above[0], f"there is no comma at the end of this line, and no {closing}: write one of them"
    return problem.line, f"a comma is missing here, or the {closing} before it: write it"


def _last_open(problem: _Problem) -> tuple[int, str]:
    """Returns the line and the bracket that is open where PyYAML stops: it may only name the place of a value in it."""
    opening = problem.opening[problem.begin_column : problem.begin_column + 1]
    if opening in _CLOSING:
        return problem.begin, opening
    closed = 0
    for number in range(min(problem.begin, len(problem.text) - 1), -1, -1):
        line = problem.text[number][: problem.begin_column if number == problem.begin else None]
        for letter in reversed(line):
            closed += (letter in _CLOSING.values()) - (letter in _CLOSING)
            if closed < 0:
                return number, letter
    return problem.begin, "["


def _says(sentence: str, *, at_begin: bool = False) -> Callable[[_Problem], Told]:
    return lambda problem: (problem.begin if at_begin else problem.line, sentence)


def _no_anchor(problem: _Problem) -> Told:
    name = problem.said.removeprefix("found undefined alias ").strip("'")
    return problem.line, f'no value before it has the anchor &{name}: write the value, or put "*{name}" in quotes'


def _anchor_twice(problem: _Problem) -> Told:
    name = problem.context.partition("'")[2].partition("'")[0]
    return problem.line, f"the anchor &{name} is given twice: give one of them another name"


def _no_escape(problem: _Problem) -> Told:
    letter = problem.found[:1]
    what = f"in double quotes, \\{letter} has no meaning" if "unknown" in problem.said else "an escape is not complete"
    return problem.line, f"{what}: write \\\\ for a backslash, or put the value in single quotes"


def _another_document(problem: _Problem) -> Told:
    if problem.opening[problem.begin_column :].startswith("{{") or any(each.startswith("{{") for each in problem.text):
        return problem.line, "a template has to be filled in first: a line with {{ }} is not YAML"
    return problem.line, "this is indented less than the line that the document begins with: line the two up"


_RULES: Sequence[tuple[str, Callable[[_Problem], Told]]] = (
    ("that cannot start any token", _first_letter),
    ("mapping values are not allowed", _second_colon),
    ("could not find expected ':'", _no_colon),
    ("while scanning a quoted scalar: found unexpected", _unclosed_quote),
    ("while parsing a flow", _unclosed_bracket),
    ("expected <block end>", _unfitting),
    ("sequence entries are not allowed", _says("a list begins in a line of its own: move the dash to the next one")),
    ("found undefined alias", _no_anchor),
    ("second occurrence", _anchor_twice),
    ("while scanning an alias", _says("a value cannot begin with *: put it in quotes")),
    ("while scanning an anchor", _says("a value cannot begin with &: put it in quotes")),
    ("while parsing a tag", _says("a value cannot begin with !: put it in quotes")),
    ("while scanning a tag", _says("a value cannot begin with !: put it in quotes")),
    ("while scanning a block scalar", _says("after | and > the text begins in the next line: move it there")),
    ("while scanning a double-quoted scalar", _no_escape),
    ("expected the node content", _first_letter),
    ("while scanning a directive", _says("a line cannot begin with %: put the value in quotes")),
    ("expected '<document start>'", _another_document),
)
"""What PyYAML says, in the order in which it is looked for, and what is to be said in its place."""
