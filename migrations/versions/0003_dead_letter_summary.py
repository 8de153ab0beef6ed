"""What the checkpointer needs: the totals at the last checkpoint, what the auditor found, the last runs, and how
far bulk work has cleared.

The openings start at zero, like the totals did: the first checkpoint's history tells all that came before it.
"""

from typing import Any

from alembic import op
from sqlalchemy import BigInteger, Column

from broker.store.types import UtcDateTime, ascii_code

revision = "0003"
down_revision = "0002"

MYSQL: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}
COUNTS = ("opening_count", "opening_died", "opening_requeued", "opening_deleted", "opening_archived",
          "opening_moved", "drift")  # fmt: skip
TIMES = ("audited_at", "cleared_to")


def upgrade() -> None:
    """Add them."""
    for name in COUNTS:
        op.add_column("dlq_summary", Column(name, BigInteger, nullable=False, server_default="0"))
    for name in TIMES:
        op.add_column("dlq_summary", Column(name, UtcDateTime))
    op.create_table(
        "dlq_run",
        Column("name", ascii_code(32), primary_key=True),
        Column("ranAt", UtcDateTime, nullable=False),
        Column("microseconds", BigInteger, nullable=False),
        Column("counted", BigInteger, nullable=False),
        Column("owner", ascii_code(64), nullable=False),
        **MYSQL,
    )


def downgrade() -> None:
    """Take them away."""
    op.drop_table("dlq_run")
    for name in (*COUNTS, *TIMES):
        op.drop_column("dlq_summary", name)
