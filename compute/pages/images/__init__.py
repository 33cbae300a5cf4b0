"""The pages of images: the lists, one image, and making one of a disk or a file."""
