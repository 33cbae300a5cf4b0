"""The pages of users: signing in, second factor, passwords, home. Server-rendered, without scripts."""
