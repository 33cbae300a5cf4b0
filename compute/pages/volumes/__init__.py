"""The pages of volumes: their list, the page of each, and its verbs. An instance's tab has some of them too."""
