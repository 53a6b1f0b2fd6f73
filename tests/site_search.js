// The site's own search: node site_search.js SITE reads a JSON list of searches, and writes the places found for each.
const fs = require("fs"), path = require("path"), vm = require("vm");

const folder = path.join(process.argv[2], "assets/javascripts/workers");
const worker = fs.readFileSync(path.join(folder, fs.readdirSync(folder).find(name => name.startsWith("search."))), "utf8");
const index = JSON.parse(fs.readFileSync(path.join(process.argv[2], "search.json"), "utf8"));
const anything = () => ({ input: { type: "operator", data: { operator: "and", operands: [] } }, aggregation: { input: [] } }); // the search changes it
let reply;
const self = { postMessage: message => reply(message) };
const ask = message => new Promise(resolve => { reply = resolve; self.onmessage({ data: message }); });

vm.runInNewContext(worker, { self, Intl });
(async () => {
  await ask({ type: 0, data: index }); // set up
  const found = [];
  for (const input of JSON.parse(fs.readFileSync(0, "utf8"))) {
    const answer = await ask({ type: 2, data: { input, filter: anything() } });
    found.push(answer.data.items.map(item => index.items[item.id].location));
  }
  console.log(JSON.stringify(found));
})();
