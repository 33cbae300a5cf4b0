"""The server's side of a request. Whole bodies are read here, before any other work is done for them."""
