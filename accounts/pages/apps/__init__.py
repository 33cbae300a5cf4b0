"""The pages of the apps that the account has registered: OAuth clients."""
