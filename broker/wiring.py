"""Settings -> parts; the only place that builds things."""

from broker.config import Settings
from broker.domain.clock import Clock
from broker.domain.ids import XidFactory
from broker.operations.parts import Parts
from broker.operations.registry_cache import RegistryCache
from broker.operations.sealing import Sealer
from broker.operations.tally import NoTally, Tally
from broker.store.engine import Database, OnRetry


def build_parts(
    settings: Settings,
    on_retry: OnRetry = lambda name, code: None,
    clock: Clock | None = None,
    tally: Tally | None = None,
) -> Parts:
    """Everything that operations need, for one process."""
    clock = clock or Clock()
    database = Database(settings.database_url, clock, settings.database_pool, on_retry)
    cache, sealer = RegistryCache(database), Sealer(settings.secret_key)
    return Parts(settings, clock, XidFactory(), database, cache, sealer, tally or NoTally())
