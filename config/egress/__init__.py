"""Where this platform may connect to on behalf of customers, who name hosts and addresses of their choice."""
