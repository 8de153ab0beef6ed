"""Operations are listed by the time of their making: ids of two processes have no order within a second."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the index for it."""
    op.create_index("operation_by_time", "operation", ["createdAt", "id"])


def downgrade() -> None:
    """Take it away."""
    op.drop_index("operation_by_time", "operation")
