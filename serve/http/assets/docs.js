"use strict";
window.ui = SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#interface",
  validatorUrl: null, // none of another host
  deepLinking: true,
  persistAuthorization: false,
  queryConfigEnabled: false,
  supportedSubmitMethods: ["get"], // there is nothing else
});
