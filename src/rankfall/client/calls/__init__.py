"""The calls of the client: each function says what to send and how to read the response, and sends nothing."""
