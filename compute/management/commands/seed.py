"""``manage.py seed``: bring in the catalogue, hosts and address pools."""

from django.core.management.base import BaseCommand

from compute.services.catalogue import seed


class Command(BaseCommand):
    help = "Add the regions, types, kernels, images, hosts and address pools that are missing."

    def add_arguments(self, parser):
        parser.add_argument("--update", action="store_true", help="also reset existing rows to the catalogue")

    def handle(self, *args, update: bool = False, **options):
        added = seed(update)
        for table, count in added.items():
            if count:
                self.stdout.write(f"{count} {table}")
        if not any(added.values()):
            self.stdout.write("nothing to add")
