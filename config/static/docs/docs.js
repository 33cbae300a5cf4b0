const reference = document.getElementById("reference");

SwaggerUIBundle({
  domNode: reference,
  url: reference.dataset.document,
  deepLinking: true,
  docExpansion: "list",
  filter: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  defaultModelsExpandDepth: -1,
  tryItOutEnabled: true,
  syntaxHighlight: { theme: "nord" },
  tagsSorter: "alpha",
  // every answer is the same machine's: there is no other server to choose
  presets: [SwaggerUIBundle.presets.apis],
});
