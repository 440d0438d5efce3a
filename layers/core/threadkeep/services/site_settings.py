"""Site settings: read by chat and extraction, changed by administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pydantic

from threadkeep.domain.site_settings import (
    SettingDetail,
    SiteSettingsChanges,
    detail_of,
    keys_of,
)
from threadkeep.domain.site_settings import SiteSettings as Values
from threadkeep.errors import NotFoundError, ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from threadkeep.domain.site_settings import Category, SettingsReset
    from threadkeep.ports import SettingsStore


class SiteSettings:
    """Use cases of the site settings."""

    def __init__(self, store: SettingsStore) -> None:
        self._store = store

    def current(self) -> Values:
        """Return all settings; a stored value that is no longer valid counts as not set."""
        stored = {
            key: value
            for key, value in self._store.all().items()
            if key in Values.model_fields and _complaints({key: value}) == []
        }
        return Values.model_validate(stored)

    def values(self, category: Category | None) -> dict[str, JsonValue]:
        """Return the values of a category by key, or all."""
        current = self.current()
        return {key: getattr(current, key) for key in keys_of(category)}

    def detail(self, key: str) -> SettingDetail:
        """Return one setting with its default and range.

        Raises:
            NotFoundError: There is no such setting.
        """
        _require_key(key)
        return detail_of(self.current(), key)

    def set(self, changes: SiteSettingsChanges) -> None:
        """Set the named settings; those set to null go back to their defaults."""
        named = changes.model_dump(include=changes.model_fields_set)
        for key, value in named.items():
            if value is not None:
                self._store.put(key, value)
        self._store.reset([key for key, value in named.items() if value is None])

    def set_one(self, key: str, value: JsonValue) -> SettingDetail:
        """Set one setting.

        Raises:
            NotFoundError: There is no such setting.
            ValidationError: The value is of the wrong type or out of range.
        """
        _require_key(key)
        complaints = _complaints({key: value})
        if complaints:
            raise ValidationError(
                "The value does not fit the setting.",
                fields=[
                    {"field": "value", "code": complaint["type"], "detail": complaint["msg"]}
                    for complaint in complaints
                ],
            )
        self._store.put(key, value)
        return self.detail(key)

    def reset(self, which: SettingsReset) -> None:
        """Bring settings back to their defaults.

        Raises:
            NotFoundError: A named setting does not exist.
        """
        keys = keys_of(which.category) if which.keys is None else which.keys
        for key in keys:
            _require_key(key)
        self._store.reset(keys)


def _require_key(key: str) -> None:
    if key not in Values.model_fields:
        raise NotFoundError("There is no such setting.")


def _complaints(values: Mapping[str, Any]) -> list[dict[str, str]]:
    try:
        Values.model_validate(values, strict=True)
    except pydantic.ValidationError as error:
        return [{"type": e["type"], "msg": e["msg"]} for e in error.errors()]
    return []
