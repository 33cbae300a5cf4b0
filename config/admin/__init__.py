"""The admin kit: stock Django admin, made good for staff at three in the morning. It knows no app.

`site` is the site, `pages` has the kinds of page (read-only, fixed cost, panels of related rows), `verbs` what
services do for staff, logged, as buttons and forms, `display` how single values are shown, `attention` the panel on
the index.
"""
