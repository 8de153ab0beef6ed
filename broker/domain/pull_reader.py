"""Reads an object field by field and remembers every one at fault."""

from collections.abc import Callable, Mapping
from typing import Any

from broker.domain.errors import FieldProblem, Invalid


class Reader:
    """Takes fields one by one and remembers what is wrong with them; null is as good as not given."""

    def __init__(self, raw: Mapping[str, object], known: set[str], prefix: str = "") -> None:
        self.raw, self._prefix = raw, prefix
        self.problems = [FieldProblem(prefix + name, "is not known") for name in raw if name not in known]

    def take(self, name: str, parse: Callable[[str, Any], Any], default: Any) -> Any:
        """The parsed value, or the default when it is not given or wrong."""
        value = self.raw.get(name)
        if value is None:
            return default
        try:
            return parse(self._prefix + name, value)
        except Invalid as refusal:
            self.problems += refusal.problems
        except ValueError as refusal:
            self.problems.append(FieldProblem(self._prefix + name, str(refusal)))
        return default

    def require(self, name: str, value: object, otherwise: str) -> None:
        """Name a field that has no value, unless it is named already."""
        if not value and not any(problem.field == self._prefix + name for problem in self.problems):
            self.problems.append(FieldProblem(self._prefix + name, otherwise))

    def refuse(self, name: str, why: str) -> None:
        """Name a field that must not be there."""
        self.problems.append(FieldProblem(self._prefix + name, why))

    def check(self) -> None:
        """Raise all that is wrong."""
        if self.problems:
            raise Invalid(self.problems)
