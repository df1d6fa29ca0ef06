"""Times of lines in JSON, as log collectors read them."""

from qtj_contract.log_times import rfc3339


def test_a_time_is_in_utc_with_milliseconds() -> None:
    assert rfc3339(1893499200.007) == "2030-01-01T12:00:00.007Z"
