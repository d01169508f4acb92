"""A service that does nothing: the same stack, paths and bodies as ``rankfall serve``, without any work.

It reads each request and sends a response made beforehand, so its rate is the most that the stack can give.
``benchmarks/load.py`` starts it with uvicorn.
"""

import os

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

RANKED = os.environ["RANKED"].encode()
ACCEPTED = b'{"accepted":1,"duplicate":0,"late":0,"unknown":0,"rejected":0,"problems":[]}'


async def ready(_request: Request) -> Response:
    """Say that the service is ready."""
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
