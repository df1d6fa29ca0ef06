"""Why a card is not used."""

__all__ = ["UnusableError"]


class UnusableError(Exception):
    """The card or its libraries cannot be used; the message is one sentence."""
