"""Policies for browsers on the project's pages: `Content-Security-Policy` and `Permissions-Policy`."""

# No form-action: browsers apply it to redirects too, and consent ends with a redirect to the client.
POLICY = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'"
POLICY_WITH_SCRIPTS = f"{POLICY}; script-src 'self'"
POLICY_OF_PAGES = f"{POLICY_WITH_SCRIPTS}; connect-src 'self'"
"""The customer's pages have their scripts in files, and fetch parts of pages."""
POLICY_WITHOUT_REDIRECTS = f"{POLICY_OF_PAGES}; form-action 'self'"
"""The admin and the API reference have their scripts in files too, and redirect to no other site."""
UNUSED = ("accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "magnetometer", "microphone",
    "midi", "payment", "usb")  # fmt: skip
PERMISSIONS = ", ".join(f"{feature}=()" for feature in UNUSED)
"""The policy denies all features that no page uses. Copying and security keys are allowed."""
