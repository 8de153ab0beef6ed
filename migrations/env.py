"""Alembic's entry: works on the connection that broker/store/schema.py hands over."""

from alembic import context

from broker.store.tables import metadata

connection = context.config.attributes["connection"]
sqlite = connection.dialect.name == "sqlite"
context.configure(
    connection=connection,
    target_metadata=metadata,
    transaction_per_migration=not sqlite,
    render_as_batch=sqlite,
)
with context.begin_transaction():
    context.run_migrations()
