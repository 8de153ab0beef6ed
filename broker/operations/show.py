"""Things as JSON, the same on every face. Tokens and secrets appear only in what was just made."""

import base64
from collections.abc import Mapping
from datetime import datetime

from broker.domain.overrides import overrides_to_json
from broker.domain.registry import Channel, Consumer, Producer
from broker.domain.states import MessageStatus, ScheduleStatus, state_of
from broker.domain.times import show_time
from broker.operations.messages import MessageWithJobs
from broker.operations.places import channel_place, consumer_place, producer_place
from broker.store.messages import Counts, StoredJob, StoredMessage

Json = dict[str, object]


def show_producer(producer: Producer, made: Mapping[str, str] | None = None) -> Json:
    """A producer."""
    return {
        "id": producer.id,
        "name": producer.name,
        "changedAt": show_time(producer.changed_at),
        "producerUrl": producer_place(producer.id),
        **(made or {}),
    }


def show_channel(channel: Channel, made: Mapping[str, str] | None = None) -> Json:
    """A channel and the addresses of what belongs to it."""
    return {
        "id": channel.id,
        "name": channel.name,
        "changedAt": show_time(channel.changed_at),
        "paused": channel.paused,
        "deadChannel": channel.dead_channel,
        "settings": overrides_to_json(channel.overrides),
        "channelUrl": channel_place(channel.id),
        "consumersUrl": channel_place(channel.id, "consumers"),
        "messagesUrl": channel_place(channel.id, "messages"),
        "broadcastUrl": channel_place(channel.id, "broadcast"),
        "batchUrl": channel_place(channel.id, "broadcast-batch"),
        "messagesStatusUrl": channel_place(channel.id, "messages-status"),
        "scheduledMessagesUrl": channel_place(channel.id, "scheduled-messages"),
        **(made or {}),
    }


def show_consumer(consumer: Consumer, made: Mapping[str, str] | None = None) -> Json:
    """A consumer."""
    return {
        "id": consumer.id,
        "channelId": consumer.channel_id,
        "name": consumer.name,
        "type": consumer.type.value,
        "callbackUrl": consumer.callback_url,
        "changedAt": show_time(consumer.changed_at),
        "paused": consumer.paused,
        "deadChannel": consumer.dead_channel,
        "settings": overrides_to_json(consumer.overrides),
        "consumerUrl": consumer_place(consumer.channel_id, consumer.id),
        "channelUrl": channel_place(consumer.channel_id),
        "deadLetterQueueUrl": consumer_place(consumer.channel_id, consumer.id, "dlq"),
        **(made or {}),
    }


def show_message(found: MessageWithJobs) -> Json:
    """A message with its jobs."""
    message = found.message
    return {
        "id": message.message_id,
        **show_content(message),
        "receivedAt": show_time(message.received_at),
        "dispatchedAt": show_time(message.deliver_at) if message.is_due else None,
        "status": message_status(message).name,
        "scheduledFor": show_time(message.deliver_at) if message.scheduled else None,
        "jobs": [show_job(job, message.read_at) for job in found.jobs],
    }


def show_scheduled(message: StoredMessage) -> Json:
    """A message as those who scheduled it see it."""
    return {
        "id": message.key,
        "messageId": message.message_id,
        **show_content(message),
        "receivedAt": show_time(message.received_at),
        "dispatchSchedule": show_time(message.deliver_at),
        "dispatchedAt": show_time(message.deliver_at) if message.is_due else None,
        "status": (ScheduleStatus.DISPATCHED if message.is_due else ScheduleStatus.SCHEDULED).value,
    }


def show_job(job: StoredJob, at: datetime) -> Json:
    """A job below its message."""
    return {
        "id": job.id,
        "consumerId": job.consumer_id,
        "listenerEndpoint": job.callback_url,
        "listenerName": job.consumer_name,
        "status": job.status.name,
        "state": job_state(job, at),
        "statusChangedAt": show_time(job.status_changed_at),
    }


def show_counts(channel: Channel, counts: Counts) -> Json:
    """Message counts, keyed as existing clients know them."""
    messages, scheduled = channel_place(channel.id, "messages"), channel_place(channel.id, "scheduled-messages")
    acknowledged, dispatched = (f"{messages}?status={status.value}" for status in MessageStatus)
    rows = (
        ("ACKNOWLEDGED", counts.acknowledged, {"messages": acknowledged}),
        ("DISPATCHED", counts.dispatched, {"messages": dispatched}),
        ("SCHEDULED_SCHEDULED", counts.scheduled, {"messages": scheduled}),
        ("SCHEDULED_DISPATCHED", counts.schedule_dispatched, {"messages": scheduled}),
    )
    soonest = counts.next_scheduled_at
    return {
        "counts": {name: {"Count": count, "Links": links} for name, count, links in rows},
        "next_scheduled_message_at": None if soonest is None else show_time(soonest),
    }


def message_status(message: StoredMessage) -> MessageStatus:
    """Whether its jobs are due."""
    return MessageStatus.DISPATCHED if message.is_due else MessageStatus.ACKNOWLEDGED


def job_state(job: StoredJob, at: datetime) -> str:
    """The state as people see it."""
    return state_of(job.status, job.next_attempt_at, job.retry_attempt_count, at)


def show_content(message: StoredMessage) -> Json:
    """What a message carries, and by what it is treated."""
    payload, encoding = show_payload(message.payload)
    return {
        "payload": payload,
        "payloadEncoding": encoding,
        "contentType": message.content_type,
        "producedBy": message.produced_by,
        "priority": message.priority,
        "expiresAt": None if message.expires_at is None else show_time(message.expires_at),
        "hopCount": message.hop_count,
        "headers": dict(message.headers),
        "metadata": message.metadata,
        "overrides": None if message.overrides is None else overrides_to_json(message.overrides),
    }


def show_payload(payload: bytes) -> tuple[str, str]:
    """Text where it is text, else base64; and which of them it is."""
    try:
        return payload.decode(), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(payload).decode(), "base64"
