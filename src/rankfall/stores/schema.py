"""The tables, with a few words that differ between the databases."""

from __future__ import annotations


def schema(*, seq: str, xid: str, blob: str, real: str, big: str) -> list[str]:
    """Statements that make the tables where they are not there yet."""
    return [
        "CREATE TABLE IF NOT EXISTS notes (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        f"""CREATE TABLE IF NOT EXISTS events (
            id TEXT PRIMARY KEY, model TEXT NOT NULL, key TEXT NOT NULL, user_id TEXT, segment TEXT,
            request_id TEXT, digest TEXT, created {real} NOT NULL, expires {real} NOT NULL, active SMALLINT NOT NULL,
            arm TEXT NOT NULL, learn SMALLINT NOT NULL, propensity {real}, catalog {big} NOT NULL,
            covered INTEGER NOT NULL, request TEXT, answer TEXT NOT NULL, features {blob},
            UNIQUE (model, request_id))""",
        "CREATE INDEX IF NOT EXISTS events_expires ON events (expires)",
        "CREATE INDEX IF NOT EXISTS events_user ON events (user_id) WHERE user_id IS NOT NULL",
        f"""CREATE TABLE IF NOT EXISTS journal (
            seq {seq}, xid {xid}, kind TEXT NOT NULL, model TEXT NOT NULL, key TEXT NOT NULL, event_id TEXT UNIQUE,
            body TEXT NOT NULL, blob {blob}, at {real} NOT NULL, token TEXT NOT NULL)""",
        "CREATE INDEX IF NOT EXISTS journal_key ON journal (model, key, xid, seq)",
        f"""CREATE TABLE IF NOT EXISTS checkpoints (
            model TEXT NOT NULL, key TEXT NOT NULL, xid {big} NOT NULL, seq {big} NOT NULL, state {blob} NOT NULL,
            PRIMARY KEY (model, key, xid, seq))""",
        f"""CREATE TABLE IF NOT EXISTS snapshots (
            id TEXT PRIMARY KEY, model TEXT NOT NULL, name TEXT NOT NULL, xid {big} NOT NULL, seq {big} NOT NULL,
            at {real} NOT NULL)""",
    ]
