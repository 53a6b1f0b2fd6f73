// A page that its server keeps up to date: groups that a run finishes are added while one reads.
import { addDetails } from "./data.js";
import { el } from "./elements.js";

const EVERY_MS = 2000;
const LATER_MS = 10000;

/**
 * Ask the server again and again for groups that the run has finished, and add them to `rows`; `grow` is called after
 * that. Return the element that says how it goes.
 * @param {{cursor: number, run: number}} live @param {import("./data.js").Row[]} rows @param {() => void} grow
 */
export function followRun(live, rows, grow) {
  const said = el("div.live", { role: "status" }, "Following the run.");
  const say = (text) => {
    if (said.textContent !== text) said.textContent = text;
  };
  let cursor = live.cursor;
  const again = async () => {
    let wait = EVERY_MS;
    try {
      const reply = await fetch(`groups?run=${live.run}&after=${cursor}`, { cache: "no-store" });
      const news = await reply.json();
      if (!reply.ok) throw new Error(news.error);
      if (news.rows.length) {
        add(news, rows);
        grow();
        wait = news.more ? 0 : EVERY_MS;
      }
      cursor = news.cursor;
      say(
        news.latest > live.run
          ? `Run ${news.latest} has begun in this ledger; load the page again to see it.`
          : "Following the run.",
      );
    } catch (error) {
      wait = LATER_MS;
      say(
        error instanceof TypeError
          ? "The server has ended; what is here stays."
          : `The run cannot be followed: ${error instanceof Error ? error.message : error}`,
      );
    }
    setTimeout(again, wait);
  };
  setTimeout(again, EVERY_MS);
  return said;
}

function add(news, rows) {
  const chunk = addDetails(news.details);
  for (const row of news.rows) rows.push({ ...row, chunk, position: rows.length });
}
