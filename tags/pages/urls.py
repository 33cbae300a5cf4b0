"""The paths of tags, below ``/home/tags``. They name a tag by its number, because a label may be any text."""

from django.urls import path

from tags.pages import one_tag, tag_list

urlpatterns = [
    path("home/tags", tag_list.TagsView.as_view(), name="tags"),
    path("home/tags/new", tag_list.NewTagView.as_view(), name="tag-new"),
    path("home/tags/<int:pk>", one_tag.TagView.as_view(), name="tag"),
    path("home/tags/<int:pk>/delete", one_tag.DeleteTagView.as_view(), name="tag-delete"),
]
