"""Where images are uploaded to. Not of the contract's operations: clients get its address from one of them."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from compute.services.images import uploads
from config.api import exceptions, reasons
from config.api.responses import RECEIVED, JSONResponse, error_response

UNSIGNED = "/uploads/images/..."


@csrf_exempt
def receive_image(request: HttpRequest, signed: str) -> HttpResponse:
    """Take the gzip file of an image as the body of a PUT, whatever its media type. The signature is what lets in.

    Answers 200 and ``{}`` when the file came in whole; the image is `available` when its event is finished. No
    cookie counts here, so there is nothing that another site could misuse, and no token against forged forms.
    """
    request.path = UNSIGNED  # what logs get to see: who reads the signature there could upload another file
    if request.method != "PUT":
        response = error_response([exceptions.problem(reasons.METHOD_NOT_ALLOWED)], 405)
        response["Allow"] = "PUT"
        return response
    try:
        # a server that takes bodies in pieces has received it already, and where that failed says how
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
    """How many bytes the body has, 0 where it is not said."""
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0
