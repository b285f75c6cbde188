"""The fold of reported and desired configs of one resource to deviations. Times are plain numbers."""

from __future__ import annotations

from kwire_pipeline.gold.config_deviations import ConfigEvent, Deviation, ResourceConfigs

OWN, DEFAULT = 1, 5


def reported(at: int, key: str, value: str | None, source: int | None = OWN) -> ConfigEvent:
    return ConfigEvent(at, False, key, value, source)


def desired(at: int, key: str, value: str | None, source: int | None = 0) -> ConfigEvent:
    return ConfigEvent(at, True, key, value, source)


def deviations(*events: ConfigEvent) -> list[Deviation]:
    configs = ResourceConfigs(OWN)
    for at in sorted({event.at for event in events}):
        configs.apply(at, [event for event in events if event.at == at])
    return sorted(configs.all(), key=lambda each: (each.since, each.key))


def test_value_deviates_until_it_is_the_desired_one() -> None:
    found = deviations(desired(0, "a", "1"), reported(1, "a", "2"), reported(5, "a", "3"), reported(9, "a", "1"))

    assert found == [Deviation("a", "1", "2", 1, 5), Deviation("a", "1", "3", 5, 9)]


def test_override_that_is_not_desired_deviates() -> None:
    found = deviations(
        desired(0, "a", "1"), reported(1, "a", "1"), reported(1, "b", "7"), reported(1, "c", "8", DEFAULT)
    )

    assert found == [Deviation("b", None, "7", 1, None)]


def test_default_equal_to_desired_value_conforms() -> None:
    assert deviations(desired(0, "a", "1"), reported(1, "a", "1", DEFAULT)) == []


def test_nothing_deviates_without_desired_or_reported_configs() -> None:
    assert deviations(desired(0, "a", "1")) == []
    assert deviations(reported(0, "a", "1")) == []
    assert deviations(desired(0, "a", "1"), reported(1, "a", "2"), desired(4, "a", None, None)) == [
        Deviation("a", "1", "2", 1, 4)
    ]


def test_hidden_value_is_not_compared() -> None:
    assert deviations(desired(0, "a", "1"), reported(1, "a", None)) == []
