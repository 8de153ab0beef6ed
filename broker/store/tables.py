"""All tables. `job` is the hot one: narrow, without foreign keys, its keys NULL unless they matter.

Public ids live in the registry tables only; everything else refers to them by short integer keys. A deleted
channel or consumer keeps its row, without its public id, until the sweeper has removed what hangs on it.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    UniqueConstraint,
)

from broker.store.types import UtcDateTime, ascii_code, long_text, payload_bytes, public_text, xid

metadata = MetaData()
MYSQL: dict[str, Any] = {"mysql_engine": "InnoDB", "mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}
REGISTRY: dict[str, Any] = {**MYSQL, "sqlite_autoincrement": True}
DLQ_COUNTS = ("count", "died", "requeued", "deleted", "archived", "moved")

producer = Table(
    "producer",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("producerId", public_text(), nullable=False),
    Column("name", public_text(), nullable=False),
    Column("tokenHash", ascii_code(128), nullable=False),
    Column("createdAt", UtcDateTime, nullable=False),
    Column("changedAt", UtcDateTime, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("deletedAt", UtcDateTime),
    UniqueConstraint("producerId", name="producer_public"),
    **REGISTRY,
)

channel = Table(
    "channel",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("channelId", public_text()),
    Column("name", public_text(), nullable=False),
    Column("tokenHash", ascii_code(128), nullable=False),
    Column("deadChannelId", Integer, ForeignKey("channel.id", name="channel_dead_channel")),
    Column("settings", long_text(), nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("createdAt", UtcDateTime, nullable=False),
    Column("changedAt", UtcDateTime, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("deletedAt", UtcDateTime),
    UniqueConstraint("channelId", name="channel_public"),
    Index("channel_by_dead_channel", "deadChannelId"),
    Index("channel_deleted", "deletedAt"),
    **REGISTRY,
)

consumer = Table(
    "consumer",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("channelId", Integer, ForeignKey("channel.id", name="consumer_channel"), nullable=False),
    Column("consumerId", public_text()),
    Column("name", public_text(), nullable=False),
    Column("tokenHash", ascii_code(128), nullable=False),
    Column("type", ascii_code(8), nullable=False),
    Column("callbackUrl", ascii_code(2000)),
    Column("signingSecret", long_text()),
    Column("previousSigningSecret", long_text()),
    Column("signingSecretChangedAt", UtcDateTime),
    Column("deadChannelId", Integer, ForeignKey("channel.id", name="consumer_dead_channel")),
    Column("settings", long_text(), nullable=False),
    Column("paused", Boolean, nullable=False),
    Column("builtIn", Boolean, nullable=False),
    Column("createdAt", UtcDateTime, nullable=False),
    Column("changedAt", UtcDateTime, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("deletedAt", UtcDateTime),
    Column("sealedToken", long_text()),
    UniqueConstraint("channelId", "consumerId", name="consumer_public"),
    Index("consumer_by_dead_channel", "deadChannelId"),
    Index("consumer_deleted", "deletedAt"),
    **REGISTRY,
)

message = Table(
    "message",
    metadata,
    Column("id", xid(), primary_key=True),
    Column("channelId", Integer, nullable=False),
    Column("producerId", Integer, nullable=False),
    Column("messageId", public_text(), nullable=False),
    Column("payload", payload_bytes(), nullable=False),
    Column("contentType", public_text(), nullable=False),
    Column("headers", long_text()),
    Column("metadata", long_text()),
    Column("priority", SmallInteger, nullable=False),
    Column("receivedAt", UtcDateTime, nullable=False),
    Column("deliverAt", UtcDateTime, nullable=False),
    Column("expiresAt", UtcDateTime),
    Column("hopCount", Integer, nullable=False),
    Column("overrides", long_text()),
    UniqueConstraint("channelId", "messageId", name="message_public"),
    Index("message_by_time", "channelId", "deliverAt", "id"),
    **MYSQL,
)

scheduled_message = Table(
    "scheduled_message",
    metadata,
    Column("id", xid(), primary_key=True),
    Column("channelId", Integer, nullable=False),
    Column("deliverAt", UtcDateTime, nullable=False),
    Index("scheduled_message_by_time", "channelId", "deliverAt", "id"),
    **MYSQL,
)

job = Table(
    "job",
    metadata,
    Column("id", xid(), primary_key=True),
    Column("messageId", xid(), nullable=False),
    Column("consumerId", Integer, nullable=False),
    Column("priority", SmallInteger, nullable=False),
    Column("status", SmallInteger, nullable=False),
    Column("statusChangedAt", UtcDateTime, nullable=False),
    Column("createdAt", UtcDateTime, nullable=False),
    Column("earliestNextAttemptAt", UtcDateTime),
    Column("deadAt", UtcDateTime),
    Column("expiresAt", UtcDateTime),
    Column("retryAttemptCount", SmallInteger, nullable=False),
    Column("replayCount", SmallInteger, nullable=False),
    Column("incrementalTimeout", Integer),
    Column("leaseToken", xid()),
    Column("outcome", ascii_code(8)),
    Column("deadReason", ascii_code(20)),
    Column("appliedPolicy", ascii_code(12)),
    Column("appliedMaxRetries", SmallInteger),
    Column("errorType", ascii_code(64)),
    Column("errorCategory", ascii_code(12)),
    Column("errorText", public_text(1000)),
    Column("errorFingerprint", ascii_code(32)),
    Index("job_due", "consumerId", "priority", "earliestNextAttemptAt", "id"),
    Index("job_dead", "consumerId", "deadAt", "id"),
    Index("job_by_message", "messageId"),
    **MYSQL,
)

job_origin = Table(
    "job_origin",
    metadata,
    Column("jobId", xid(), primary_key=True),
    Column("consumerId", Integer, nullable=False),
    Column("sourceJobId", xid(), nullable=False),
    Column("sourceChannelId", public_text(), nullable=False),
    Column("sourceConsumerId", public_text(), nullable=False),
    Column("errorType", ascii_code(64)),
    Column("errorText", public_text(1000)),
    Column("failedAt", UtcDateTime, nullable=False),
    Column("retryCount", SmallInteger, nullable=False),
    Column("sourceMessageId", public_text()),
    UniqueConstraint("consumerId", "sourceJobId", name="job_origin_source"),
    **MYSQL,
)

job_expiry = Table(
    "job_expiry",
    metadata,
    Column("expiresAt", UtcDateTime, primary_key=True),
    Column("jobId", xid(), primary_key=True),
    **MYSQL,
)

job_event = Table(
    "job_event",
    metadata,
    Column("jobId", xid(), primary_key=True),
    Column("id", xid(), primary_key=True),
    Column("happenedAt", UtcDateTime, nullable=False),
    Column("event", ascii_code(20), nullable=False),
    Column("actor", public_text(), nullable=False),
    Column("errorType", ascii_code(64)),
    Column("errorCategory", ascii_code(12)),
    Column("detail", public_text(1000)),
    **MYSQL,
)

lock = Table(
    "lock",
    metadata,
    Column("lockId", ascii_code(255), primary_key=True),
    Column("owner", ascii_code(64), nullable=False),
    Column("attainedAt", UtcDateTime, nullable=False),
    Column("expiresAt", UtcDateTime, nullable=False),
    **MYSQL,
)

lease = Table(
    "lease",
    metadata,
    Column("token", xid(), primary_key=True),
    Column("consumerId", Integer, nullable=False),
    Column("owner", public_text(), nullable=False),
    Column("expiresAt", UtcDateTime, nullable=False),
    Column("jobIds", long_text(), nullable=False),
    Index("lease_end", "expiresAt", "token"),
    Index("lease_by_consumer", "consumerId"),
    **MYSQL,
)

dlq_summary = Table(
    "dlq_summary",
    metadata,
    Column(
        "consumerId",
        Integer,
        ForeignKey("consumer.id", name="dlqSummaryConsumerRef", onupdate="CASCADE", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("consumerName", public_text(), nullable=False),
    Column("channelId", public_text(), nullable=False),
    Column("channelName", public_text(), nullable=False),
    Column("dead_count", BigInteger, nullable=False, server_default="0"),
    Column("last_checked_at", UtcDateTime, nullable=False),
    Column("died_total", BigInteger, nullable=False, server_default="0"),
    Column("requeued_total", BigInteger, nullable=False, server_default="0"),
    Column("deleted_total", BigInteger, nullable=False, server_default="0"),
    Column("archived_total", BigInteger, nullable=False, server_default="0"),
    Column("moved_total", BigInteger, nullable=False, server_default="0"),
    *(Column(f"opening_{name}", BigInteger, nullable=False, server_default="0") for name in DLQ_COUNTS),
    Column("drift", BigInteger, nullable=False, server_default="0"),
    Column("audited_at", UtcDateTime),
    Column("cleared_to", UtcDateTime),
    **MYSQL,
)

dlq_history = Table(
    "dlq_history",
    metadata,
    Column("consumerId", Integer, primary_key=True, autoincrement=False),
    Column("checkpointAt", UtcDateTime, primary_key=True),
    Column("opening", BigInteger, nullable=False),
    Column("died", BigInteger, nullable=False),
    Column("requeued", BigInteger, nullable=False),
    Column("deleted", BigInteger, nullable=False),
    Column("archived", BigInteger, nullable=False),
    Column("moved", BigInteger, nullable=False),
    Column("closing", BigInteger, nullable=False),
    **MYSQL,
)

dlq_run = Table(
    "dlq_run",
    metadata,
    Column("name", ascii_code(32), primary_key=True),
    Column("ranAt", UtcDateTime, nullable=False),
    Column("microseconds", BigInteger, nullable=False),
    Column("counted", BigInteger, nullable=False),
    Column("owner", ascii_code(64), nullable=False),
    **MYSQL,
)

operation = Table(
    "operation",
    metadata,
    Column("id", xid(), primary_key=True),
    Column("kind", ascii_code(16), nullable=False),
    Column("state", ascii_code(16), nullable=False),
    Column("consumerId", Integer, nullable=False),
    Column("selection", long_text(), nullable=False),
    Column("cursor", ascii_code(255)),
    Column("total", BigInteger),
    Column("done", BigInteger, nullable=False),
    Column("skipped", BigInteger, nullable=False),
    Column("actor", public_text(), nullable=False),
    Column("createdAt", UtcDateTime, nullable=False),
    Column("changedAt", UtcDateTime, nullable=False),
    Column("outcome", long_text()),
    Index("operation_by_state", "state", "id"),
    Index("operation_by_time", "createdAt", "id"),
    **MYSQL,
)
