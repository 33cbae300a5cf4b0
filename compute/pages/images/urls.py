"""The paths of images, below ``/home/images``. The id of an image has a slash, so the page of one comes last."""

from django.urls import path

from compute.pages.images import from_disk, image_list, one_image, uploading

urlpatterns = [
    path("", image_list.ImagesView.as_view(), name="images"),
    path("/public", image_list.PublicImagesView.as_view(), name="images-public"),
    path("/new", from_disk.NewImageView.as_view(), name="image-new"),
    path("/upload", uploading.UploadImageView.as_view(), name="image-upload-new"),
    path("/<catalogue_slug:pk>/upload", uploading.SendFileView.as_view(), name="image-send"),
    path("/<catalogue_slug:pk>/upload/command", uploading.CommandView.as_view(), name="image-send-command"),
    path("/<catalogue_slug:pk>/edit", one_image.EditImageView.as_view(), name="image-edit"),
    path("/<catalogue_slug:pk>/delete", one_image.DeleteImageView.as_view(), name="image-delete"),
    path("/<catalogue_slug:pk>", one_image.ImageView.as_view(), name="image"),
]
