"""Values of an account in the form that customers and staff see."""
