"""Elements of HTML and SVG: a tree whose text is escaped when it is written."""

from xml.etree.ElementTree import Element, tostring

from qtj_contract.printable import visible

__all__ = ["Child", "markup", "node"]

Child = Element | str | None


def node(tag: str, *children: Child, **attributes: str | float | None) -> Element:
    """Returns an element.

    Args:
        tag: Its name.
        children: Elements and text, in order; None is left out.
        attributes: Their names in Python: `class_` for class, `aria_label` for aria-label. One of None is left out.
    """
    made = Element(tag, {_name(key): visible(str(value)) for key, value in attributes.items() if value is not None})
    for child in children:
        if isinstance(child, Element):
            made.append(child)
        elif child:
            _add_text(made, visible(child))
    return made


def markup(root: Element) -> str:
    """Returns an element as text."""
    return tostring(root, encoding="unicode", method="html")


def _name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def _add_text(parent: Element, text: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
