"""The pages of users: signing in and home. Server-rendered; all of it works without scripts."""
