"""The admin kit: the Django admin, extended for staff who work under pressure. The kit knows no app.

`site` is the admin site. `pages` has the kinds of page: read-only, with a fixed number of queries, with panels of
related rows. `verbs` offers services to staff as buttons and forms, and logs their use. `display` formats single
values. `attention` is the panel on the index.
"""
