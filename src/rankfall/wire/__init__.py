"""The shapes of requests and responses, defined once: for the service, its description, the client and the import."""

from rankfall.wire.catalog import BulkItem, CatalogResponse, Item, ItemBody, ItemPatch
from rankfall.wire.decoding import convert, decode
from rankfall.wire.feedback import (
    Click,
    Clicked,
    FeedbackBatchRequest,
    FeedbackProblem,
    FeedbackRequest,
    FeedbackResponse,
)
from rankfall.wire.fields import LONGEST_NAME, LONGEST_TITLE, ItemId, Mode, ModelName, Name, Result, Scope, Seen
from rankfall.wire.models import Forgetting, ModelChanges, ModelSettings, Pin, SnapshotRequest
from rankfall.wire.ranking import (
    ActivateResponse,
    BatchedRankRequest,
    EventFeedback,
    EventResponse,
    RankBatchRequest,
    RankedItem,
    RankRequest,
    RankResponse,
)

__all__ = [
    "LONGEST_NAME",
    "LONGEST_TITLE",
    "ActivateResponse",
    "BatchedRankRequest",
    "BulkItem",
    "CatalogResponse",
    "Click",
    "Clicked",
    "EventFeedback",
    "EventResponse",
    "FeedbackBatchRequest",
    "FeedbackProblem",
    "FeedbackRequest",
    "FeedbackResponse",
    "Forgetting",
    "Item",
    "ItemBody",
    "ItemId",
    "ItemPatch",
    "Mode",
    "ModelChanges",
    "ModelName",
    "ModelSettings",
    "Name",
    "Pin",
    "RankBatchRequest",
    "RankRequest",
    "RankResponse",
    "RankedItem",
    "Result",
    "Scope",
    "Seen",
    "SnapshotRequest",
    "convert",
    "decode",
]
