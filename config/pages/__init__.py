"""The common base of all web pages: middleware, policies, navigation, forms and lists. It knows no app."""
