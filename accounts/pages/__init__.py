"""The pages of users: signing in and home. Server-rendered; all pages work without scripts."""
