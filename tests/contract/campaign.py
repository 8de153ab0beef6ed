"""Runs schemathesis against a served broker and gathers what it found and which answers came."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import schemathesis
from schemathesis import Response
from schemathesis.config import SchemathesisConfig
from schemathesis.core.failures import Failure
from schemathesis.core.result import Ok
from schemathesis.engine import events, from_schema
from schemathesis.hooks import HookContext

from tests.contract.shaping import AnyCase, shape
from tests.contract.verdicts import is_finding
from tests.contract.world import World


@dataclass
class Report:
    """What a campaign saw."""

    answers: Counter[tuple[str, int]] = field(default_factory=Counter)
    findings: dict[str, str] = field(default_factory=dict)

    def succeeded(self) -> set[str]:
        """The operations that were answered with 2xx at least once."""
        return {label for label, status in self.answers if 200 <= status < 300}

    def text(self) -> str:
        """All findings, each with a call that shows it."""
        return "\n\n".join(f"{what}\n{example}" for what, example in self.findings.items())


class Campaign:
    """One run over all operations; `settings` as in a schemathesis.toml."""

    def __init__(self, url: str, world: World, settings: Mapping[str, Any]) -> None:
        self.report, self._world = Report(), world
        config = SchemathesisConfig.from_dict({"base-url": url, **settings})
        served = httpx.get(f"{url}/openapi.yaml").raise_for_status().text
        self.schema = schemathesis.openapi.from_file(served, config=config)
        self._listen()

    def operations(self) -> set[str]:
        """Every operation that is described."""
        found = (result.ok() for result in self.schema.get_all_operations() if isinstance(result, Ok))
        return {operation.label for operation in found}

    def run(self) -> Report:
        """All phases; gives what was found."""
        for event in from_schema(self.schema).execute():
            if isinstance(event, events.NonFatalError):
                self.report.findings[f"{event.label}: {event.value!r}"] = str(event.info)
            if isinstance(event, events.ScenarioFinished):
                self.report.findings.update(_findings(event))
        return self.report

    def _listen(self) -> None:
        @self.schema.hook
        def map_case(context: HookContext, case: AnyCase) -> AnyCase:
            return shape(case)

        @self.schema.hook
        def after_call(context: HookContext, case: AnyCase, response: Response) -> None:
            self.report.answers[case.operation.label, response.status_code] += 1
            if response.status_code < 300:
                self._world.restore(case.method, case.formatted_path)

        @self.schema.hook
        def filter_failure(context: HookContext, failure: Failure, case: AnyCase, response: Response) -> bool:
            return is_finding(failure, case, response)


def _findings(event: events.ScenarioFinished) -> Iterator[tuple[str, str]]:
    for case_id, checks in event.recorder.checks.items():
        for found in (check.failure_info for check in checks if check.failure_info is not None):
            answer = event.recorder.interactions[case_id].response
            shown = "" if answer is None else f"{answer.status_code} {answer.content[:1000]!r}"
            failure = found.failure
            yield f"{failure.operation}: {failure.title}: {failure.message}", f"{found.code_sample}\n{shown}"
