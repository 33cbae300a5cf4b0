"""The server's side of a request: bodies are read here, whole, before anything else is done for them."""
