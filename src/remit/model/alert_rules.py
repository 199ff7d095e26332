"""When alerts are raised, as a tenant declares it; the defaults are those of S2.48."""

from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Final, cast

from remit.model.alerts import AlertType, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRule:
    """When an alert of one type is raised: at every sign of it."""

    enabled: bool = True
    severity: Severity = Severity.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeRule(AlertRule):
    """So many statements within an hour as are *multiplier* times what is usual.

    Attributes:
        usual_per_hour: Statements of one caller.
    """

    multiplier: float = 5
    usual_per_hour: int = 10

    @property
    def threshold(self) -> int:
        """Statements within an hour."""
        return max(1, round(self.multiplier * self.usual_per_hour))


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRule(AlertRule):
    """So many rows in one answer, or in all answers of an hour.

    Both can be reached under the cap of 1,000 rows an answer (S2.37).
    """

    severity: Severity = Severity.INFO
    rows: int = 500
    rows_per_hour: int = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class HoursRule(AlertRule):
    """A call outside of hours.

    Attributes:
        begins: First minute of the day, in UTC, at which calls are usual.
        ends: First minute at which they are not any more; before *begins*, it is of the next day.
    """

    enabled: bool = False
    severity: Severity = Severity.INFO
    begins: time = time(6)
    ends: time = time(22)

    def holds(self, moment: datetime) -> bool:
        """Whether an aware moment is within the hours."""
        now = moment.astimezone(UTC).time()
        if self.begins <= self.ends:
            return self.begins <= now < self.ends
        return now >= self.begins or now < self.ends


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUserRule(AlertRule):
    """So many statements within so many hours of a caller's first one."""

    queries: int = 20
    hours: int = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorsRule(AlertRule):
    """The same error so often within so many minutes."""

    errors: int = 5
    minutes: int = 10


MOST_ANSWERS: Final = 100_000
"""Answers of one caller that are looked back at, at most: nobody has as many in an hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRules:
    """The rules of a tenant; the field of a rule has the name of its type."""

    sql_injection_detected: AlertRule = AlertRule(severity=Severity.CRITICAL)
    unusual_query_volume: VolumeRule = VolumeRule()
    sensitive_table_access: AlertRule = AlertRule()
    large_data_export: ExportRule = ExportRule()
    after_hours_access: HoursRule = HoursRule()
    new_user_high_volume: NewUserRule = NewUserRule()
    repeated_errors: ErrorsRule = ErrorsRule()

    def rule(self, type_: AlertType) -> AlertRule:
        """Return the rule of a type."""
        return cast("AlertRule", getattr(self, type_.value))

    @property
    def looks_back(self) -> int:
        """How many statements of a caller, beside the new ones, any rule wants to know of."""
        by_count = (self.unusual_query_volume.threshold, self.new_user_high_volume.queries)
        return max(*by_count, 1000)

    @property
    def looks_back_at_answers(self) -> int:
        """How many answers with rows any rule wants to know of: a row each, they reach it."""
        return min(self.large_data_export.rows_per_hour, MOST_ANSWERS)
