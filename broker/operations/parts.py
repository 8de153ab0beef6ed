"""What operations work with."""

from dataclasses import dataclass, field

from broker.config import Settings
from broker.domain.clock import Clock
from broker.domain.ids import XidFactory
from broker.operations.registry_cache import RegistryCache
from broker.operations.sealing import Sealer
from broker.operations.tally import NoTally, Tally
from broker.store.engine import Database


@dataclass(frozen=True, slots=True)
class Parts:
    """Built once per process by wiring."""

    settings: Settings
    clock: Clock
    ids: XidFactory
    database: Database
    cache: RegistryCache
    sealer: Sealer
    tally: Tally = field(default_factory=NoTally)
