"""The pages of tags: the list, a tag with the objects that carry it, and a new tag."""
