"""What all web pages have in common: middleware, policies, navigation, forms and lists. It knows no app."""
