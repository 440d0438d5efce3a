"""Site settings: defaults, ranges, reset."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError as InvalidModelError

from tests.fakes.site_settings import FakeSettingsStore
from threadkeep.domain.site_settings import SettingsReset, SiteSettingsChanges
from threadkeep.errors import NotFoundError, ValidationError
from threadkeep.services.site_settings import SiteSettings

COOLDOWN = "memory_extraction_cooldown_seconds"
DEFAULTS = {
    "memory_async_extraction_enabled": False,
    "memory_extraction_model_id": "",
    COOLDOWN: 180,
    "memory_extraction_max_pending_turns": 6,
}


@pytest.fixture
def store() -> FakeSettingsStore:
    return FakeSettingsStore()


@pytest.fixture
def settings(store: FakeSettingsStore) -> SiteSettings:
    return SiteSettings(store)


def test_settings_start_with_the_defaults(settings: SiteSettings) -> None:
    assert settings.values("memory") == DEFAULTS
    assert settings.values(None).keys() > DEFAULTS.keys()


def test_named_settings_are_set_and_null_resets_one(settings: SiteSettings) -> None:
    settings.set(SiteSettingsChanges(memory_async_extraction_enabled=True))
    settings.set(SiteSettingsChanges.model_validate({COOLDOWN: 10}))
    assert settings.values("memory") == {
        **DEFAULTS,
        "memory_async_extraction_enabled": True,
        COOLDOWN: 10,
    }
    settings.set(SiteSettingsChanges.model_validate({COOLDOWN: None}))
    assert settings.values("memory")[COOLDOWN] == 180


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (COOLDOWN, 9),
        (COOLDOWN, 3601),
        (COOLDOWN, "60"),
        (COOLDOWN, 60.5),
        (COOLDOWN, True),
        (COOLDOWN, None),
        ("memory_extraction_max_pending_turns", 0),
        ("memory_extraction_max_pending_turns", 51),
        ("memory_async_extraction_enabled", "true"),
        ("memory_async_extraction_enabled", 1),
        ("memory_extraction_model_id", "x" * 201),
        ("default_agent_id", "a b"),
    ],
)
def test_value_out_of_range_or_of_the_wrong_type_is_refused(
    settings: SiteSettings, store: FakeSettingsStore, key: str, value: Any
) -> None:
    with pytest.raises(ValidationError) as failure:
        settings.set_one(key, value)
    assert failure.value.fields[0]["field"] == "value"
    if value is not None:
        with pytest.raises(InvalidModelError):
            SiteSettingsChanges.model_validate({key: value}, strict=True)
    assert store.all() == {}


@pytest.mark.parametrize("value", [10, 3600])
def test_ends_of_a_range_are_in_it(settings: SiteSettings, value: int) -> None:
    detail = settings.set_one(COOLDOWN, value)
    assert (detail.value, detail.default, detail.minimum, detail.maximum) == (value, 180, 10, 3600)
    assert detail.category == "memory"


def test_unknown_setting_is_not_found(settings: SiteSettings) -> None:
    for attempt in (
        lambda: settings.detail("unheard_of"),
        lambda: settings.set_one("unheard_of", 1),
        lambda: settings.reset(SettingsReset(keys=("unheard_of",))),
    ):
        with pytest.raises(NotFoundError):
            attempt()


def test_reset_brings_back_what_it_names(settings: SiteSettings) -> None:
    # given
    changes = SiteSettingsChanges.model_validate({COOLDOWN: 20, "base_instructions": "Be brief."})
    settings.set(changes)
    # when
    settings.reset(SettingsReset(category="memory"))
    # then
    assert settings.values("memory") == DEFAULTS
    assert settings.current().base_instructions == "Be brief."
    settings.reset(SettingsReset())
    assert settings.current().base_instructions != "Be brief."


def test_stored_value_that_is_no_longer_valid_counts_as_not_set(
    settings: SiteSettings, store: FakeSettingsStore
) -> None:
    store.put(COOLDOWN, 5)
    store.put("a_setting_of_old", "x")
    store.put("memory_async_extraction_enabled", True)
    assert settings.current().memory_extraction_cooldown_seconds == 180
    assert settings.current().memory_async_extraction_enabled is True
