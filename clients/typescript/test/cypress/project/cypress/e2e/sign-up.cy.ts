it("signs up", () => {
  cy.inbox().then((inbox) => {
    cy.visit("/sign-up");
    cy.get("[name=email]").type(inbox.address);
    cy.contains("Send me a code").click();
    cy.waitForMessage(inbox, { subject: /sign up/i, has: "code", timeout: 20_000 }).then((message) => {
      cy.code(message, { matching: "sign" }).then((code) => cy.get("[name=code]").type(code));
      cy.link(message, { text: "Confirm" }).then((url) => cy.visit(url));
      cy.link(message, /confirm/).should("contain", "confirm");
    });
  });
});

it("tries again when the mail server is busy", () => {
  cy.inboxFor("ada@app.example").then((inbox) => {
    cy.setFaults(inbox, [{ at: "data", do: "defer", times: 1 }])
      .its(0)
      .should("have.property", "left", 1);
    cy.waitForMessage(inbox).its("subject").should("equal", "Welcome");
    // @ts-expect-error: a message is needed, not an inbox.
    cy.code(inbox);
    // @ts-expect-error: functions cannot be passed to Node.
    cy.waitForMessage(inbox, { where: () => true });
  });
});
