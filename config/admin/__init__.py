"""The admin kit: stock Django admin, made good for staff at three in the morning. It knows no app.

`site` is the site, `pages` has the kinds of page (read-only, fixed cost, panels of related rows), `verbs` offers
services to staff as buttons and forms, and logs their use, `display` renders single values, `attention` the panel
on the index.
"""
