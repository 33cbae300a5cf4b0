"""The admin kit: the Django admin, extended for staff who work under pressure. The kit knows no app.

`site` is the admin site. `pages` has the kinds of page: read-only, with a fixed number of queries, with panels of
related rows. `verbs` offers services to staff as buttons and forms, and logs their use. `board`
has the numbers and figures of the first page, and `attention` its notices. `search` is the search over all pages.
`value_formats` formats single values. `roles` has the roles of staff.
"""
