/** Checks what a reader finds with the search of the built web site: with the site's own scripts, without a browser. */

import { readFileSync, readdirSync } from "node:fs";
import { createContext, runInContext } from "node:vm";

const SITE = new URL("../target/site/", import.meta.url);
/** What a reader types, and the section that answers. */
const SEARCHES = {
  "how do I test that no mail arrives": "reliable-tests/#test-that-no-mail-arrives",
  "no webhook": "reliable-tests/#no-webhooks",
  "without a key": "own-machine/#without-a-key",
};
/** How many sections a reader looks at. */
const MAX_SECTIONS = 3;
const [SETUP, READY, QUERY, RESULT] = [0, 1, 2, 3];

const read = (path) => readFileSync(new URL(path, SITE), "utf8");

/** The script of the worker, which gets and answers messages. */
const workers = "assets/javascripts/workers/";
const script = readdirSync(new URL(workers, SITE)).find((name) => /^search\..*\.js$/.test(name));
let receive;
let answered;
const worker = createContext({
  addEventListener: (_event, listener) => (receive = listener),
  postMessage: (message) => answered(message),
  importScripts: () => {},
  console,
});
worker.self = worker;
runInContext(read(workers + script), worker);

/** The page, whose script changes what is sent to the worker. */
class Worker {
  postMessage(message) {
    receive({ data: message });
  }
}
runInContext(read("assets/search.js"), createContext({ Worker }));

/** Sends a message to the worker, and waits for the answer of a type. */
const ask = (message, type) =>
  new Promise((resolve) => {
    answered = (answer) => answer.type === type && resolve(answer.data);
    new Worker().postMessage(message);
  });

const { config, docs } = JSON.parse(read("search/search_index.json"));
await ask({ type: SETUP, data: { config, docs, options: { suggest: true } } }, READY);
for (const [phrase, wanted] of Object.entries(SEARCHES)) {
  const { items } = await ask({ type: QUERY, data: phrase }, RESULT);
  const found = items.flat().map(({ location }) => location).slice(0, MAX_SECTIONS);
  if (!found.includes(wanted)) {
    console.error(`"${phrase}" finds ${found.join(", ")}, not ${wanted}`);
    process.exitCode = 1;
  }
}
