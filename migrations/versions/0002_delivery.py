"""What delivery needs: overrides of a message, expiry of jobs, a push consumer's token, the source of a moved job.

New columns are nullable and last, so that both servers add them without rebuilding a table.
"""

from typing import Any

from alembic import op
from sqlalchemy import Column

from broker.store.types import UtcDateTime, long_text, public_text, xid

revision = "0002"
down_revision = "0001"

MYSQL: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}
COLUMNS = (("message", "overrides", long_text), ("consumer", "sealedToken", long_text),
           ("job_origin", "sourceMessageId", public_text))  # fmt: skip
UNFINISHED_THAT_EXPIRE = (
    "INSERT INTO job_expiry (expiresAt, jobId)"
    " SELECT expiresAt, id FROM job WHERE expiresAt IS NOT NULL AND status IN (1001, 1002)"
)


def upgrade() -> None:
    """Add the columns and the table, and list what expires."""
    for table, name, kind in COLUMNS:
        op.add_column(table, Column(name, kind()))
    op.create_table(
        "job_expiry",
        Column("expiresAt", UtcDateTime, primary_key=True),
        Column("jobId", xid(), primary_key=True),
        **MYSQL,
    )
    op.execute(UNFINISHED_THAT_EXPIRE)


def downgrade() -> None:
    """Take them away."""
    op.drop_table("job_expiry")
    for table, name, _ in COLUMNS:
        op.drop_column(table, name)
