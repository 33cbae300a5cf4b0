"""The common base of all web pages: middleware, policies, navigation, forms and lists. It imports no app."""
