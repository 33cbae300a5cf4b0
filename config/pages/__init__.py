"""The common base of all web pages: middleware, policies, navigation, forms and lists. The package imports no app."""
