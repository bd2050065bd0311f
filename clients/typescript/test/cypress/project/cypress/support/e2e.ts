import "restante/cypress/commands";
