"""The operations of the interface, one module for each subject."""

from rankfall.service.http.operations import Operation
from rankfall.service.http.routes import catalog, feedback, models, ranking, running, snapshots, users

OPERATIONS: tuple[Operation, ...] = (
    *ranking.operations,  # first, since routes are tried in this order
    *feedback.operations,
    *catalog.operations,
    *models.operations,
    *snapshots.operations,
    *users.operations,
    *running.operations,
)
