"""A service that does nothing: the same stack, paths and bodies as `rankfall serve`, and no work at all.

It reads each request and answers bytes made beforehand, so that what it manages is the most the stack can give.
"""

import os

from fastapi import FastAPI, Request, Response

ANSWER = os.environ["RANKFALL_ANSWER"].encode()
ACCEPTED = b'{"accepted":1,"duplicate":0,"late":0,"unknown":0,"rejected":0,"problems":[]}'

app = FastAPI()


@app.get("/health/ready")
async def ready() -> dict[str, str]:
    """Up."""
    return {"status": "ready"}


@app.post("/v1/models/{model}/rank")
async def rank(model: str, request: Request) -> Response:  # noqa: ARG001
    """The answer to every ranking."""
    await request.body()
    return Response(ANSWER, media_type="application/json")


@app.post("/v1/feedback")
async def feedback(request: Request) -> Response:
    """The answer to every feedback."""
    await request.body()
    return Response(ACCEPTED, media_type="application/json")
