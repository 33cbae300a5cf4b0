"""The environment: variables, checks of their values, the provider of sign-ins, and folders."""
