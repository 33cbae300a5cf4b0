"""The admin kit: stock Django admin, made good for staff at three in the morning. It knows no app.

`pages` has the kinds of page (read-only, fixed cost, panels of related rows), `verbs` the buttons that call
services and are logged, `display` how single values are shown, `attention` the panel on the index.
"""

from django.contrib import admin

admin.site.site_header = "Skerry"
admin.site.site_title = "Skerry admin"
admin.site.index_title = "Administration"
admin.site.site_url = "/docs"
admin.site.empty_value_display = "–"
