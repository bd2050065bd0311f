/**
 * Makes questions work in the search. Material finds every word that starts with one of the words that are typed, so
 * "how do I test that no mail arrives" would find each page with a word that starts with "i". Here, common words are
 * left out, and a whole word counts more than its start.
 */

(() => {
  const COMMON = new Set(
    ("a an and any are as at be been but by can could do does for from get had has have how i if in into is it its " +
      "me my no not of on or our should so some such that the their them then there these they this to us was we were " +
      "what when where which who why will with would you your").split(" "),
  );
  /** The type of a message to the worker that searches. */
  const QUERY = 2;

  const asQuery = (question) => {
    const words = question.trim().split(/\s+/);
    const rare = words.filter((word) => !COMMON.has(word.toLowerCase().replace(/\W+$/, "")));
    // Quotation marks and signs have a meaning of their own.
    return rare.map((word) => (/^\w+$/.test(word) ? `${word}^10 ${word}` : word)).join(" ") || question;
  };

  const send = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...rest) {
    const isQuery = message?.type === QUERY && typeof message.data === "string";
    send.call(this, isQuery ? { ...message, data: asQuery(message.data) } : message, ...rest);
  };
})();
