"""A service that does nothing: the same stack, paths and bodies as `rankfall serve`, and no work at all.

It reads each request and sends bytes made beforehand, so that what it manages is the most the stack can give.
"""

import os

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

RANKED = os.environ["RANKFALL_ANSWER"].encode()
ACCEPTED = b'{"accepted":1,"duplicate":0,"late":0,"unknown":0,"rejected":0,"problems":[]}'


async def ready(_request: Request) -> Response:
    """Up."""
    return JSONResponse({"status": "ready"})


async def rank(request: Request) -> Response:
    """The response to every ranking."""
    await request.body()
    return Response(RANKED, media_type="application/json")


async def feedback(request: Request) -> Response:
    """The response to every feedback."""
    await request.body()
    return Response(ACCEPTED, media_type="application/json")


app = Starlette(
    routes=[
        Route("/health/ready", ready),
        Route("/v1/models/{model}/rank", rank, methods=["POST"]),
        Route("/v1/feedback", feedback, methods=["POST"]),
    ]
)
