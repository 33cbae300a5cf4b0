"""The address that images are uploaded to. It is no operation of the contract: an answer of one names it."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from compute.services.images import uploads
from config.api import exceptions, reasons
from config.api.responses import RECEIVED, JSONResponse, error_response

UNSIGNED = "/uploads/images/..."


@csrf_exempt
def receive_image(request: HttpRequest, signed: str) -> HttpResponse:
    """Receive the gzip file of an image as the body of a PUT of any media type. The signature gives access.

    Answers 200 and ``{}`` when the whole file was received. The image is `available` when its event finishes. The
    request needs no protection against forgery, because cookies are not read.
    """
    request.path = UNSIGNED  # for logs: anyone who reads the signature there could upload another file
    if request.method != "PUT":
        response = error_response([exceptions.problem(reasons.METHOD_NOT_ALLOWED)], 405)
        response["Allow"] = "PUT"
        return response
    try:
        # a server that takes bodies in pieces has received the file already, or passes on the error
        received = request.META.get(RECEIVED)
        if isinstance(received, Exception):
            raise received
        if received is None:
            uploads.receive(signed, request, _length(request))
        else:
            received.accept()
    except Exception as error:  # noqa: BLE001 - whatever it was, the answer has the one error body
        return exceptions.answer(error, request)
    return JSONResponse()


def _length(request: HttpRequest) -> int:
    """Return the length of the body in bytes; 0 if the header is missing or invalid."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0
