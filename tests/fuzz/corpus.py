"""Damaged bytes, made from good ones: cut, doubled, exchanged, and with pieces that have broken readers before."""

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np

PIECES = (
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\x1b[31m", b"\xe2\x80\xa8", b"\r", b"\t", b'"', b"'", b"\\ud800",
    b"{" * 3000, b"[" * 3000, b'{"a":' * 1500, b"- " * 2000, b"9" * 5000, b"1e999", b"NaN", b"-Infinity",
    b"null", b"-1", b"true", b"{}", b"[]", b": ", b"<<: *a", b"&a [*a, *a]", b"!!python/object/apply:os.system [id]",
    b"? ", b"---\n", b"10_000", b"0x10", b"2026-13-45T99:99:99Z", b"../../", b"file:///dev/zero", b"%00",
)  # fmt: skip
MOST_CHANGES = 4


def new_seed() -> int:
    """Returns a seed that no run had before. A failure names it."""
    return int(np.random.default_rng().integers(1 << 30))


def mutants(corpus: Sequence[bytes], count: int, seed: int) -> Iterator[bytes]:
    """Yields damaged copies of members of a corpus, the same ones for the same seed."""
    random = Random(seed)
    for _ in range(count):
        data = bytearray(random.choice(corpus))
        for _ in range(random.randint(1, MOST_CHANGES)):
            _damage(data, random)
        yield bytes(data)


def _damage(data: bytearray, random: Random) -> None:
    first, second = sorted(random.randint(0, len(data)) for _ in range(2))
    match random.randrange(6):
        case 0:
            data[first:first] = random.choice(PIECES)
        case 1:
            data[first:second] = random.choice(PIECES)
        case 2:
            del data[first : first + random.randint(1, 20)]
        case 3:
            data[first:first] = data[first : min(second, first + 200)]
        case 4 if first < len(data):
            data[first] ^= 1 << random.randrange(8)
        case _:
            del data[max(first, len(data) // 2) :]
