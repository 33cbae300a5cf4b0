"""The parts of every request and answer: middleware, headers, clients' addresses, compression, error pages."""
