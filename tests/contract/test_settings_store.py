"""What every settings store does."""

import pytest

from tests.contract.stores import KINDS
from tests.fakes.site_settings import FakeSettingsStore
from threadkeep.ports import SettingsStore
from threadkeep.storage.site_settings import DynamoSettingsStore


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> SettingsStore:
    """Every settings store in turn, empty."""
    if request.param == "fake":
        return FakeSettingsStore()
    return DynamoSettingsStore(request.getfixturevalue("table"))


def test_only_what_was_set_is_there_with_its_value(store: SettingsStore) -> None:
    # Given values of every JSON type
    values = {
        "text": "ein Löffel 茶",
        "empty": "",
        "number": 0.1,
        "large": 2**60,
        "flag": False,
        "nothing": None,
        "list": [1, "x", {"deep": []}],
        "K#forged/key%": "x",
    }
    assert store.all() == {}

    # When they are set, one of them twice
    store.put("text", "before")
    for key, value in values.items():
        store.put(key, value)

    # Then they are there as last set, types included
    assert store.all() == values
    assert store.all()["flag"] is False


def test_reset_removes_the_named_values_only(store: SettingsStore) -> None:
    # Given three values
    for key in ("a", "b", "c"):
        store.put(key, 1)

    # When two are reset, and one that was never set
    store.reset(["a", "c", "never"])

    # Then the third stays
    assert store.all() == {"b": 1}
    store.reset([])
    assert store.all() == {"b": 1}
