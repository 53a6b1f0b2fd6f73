// A page that its server keeps up to date: what a run finishes is added while one reads.
import { addDetails } from "./data.js";
import { el } from "./elements.js";

const EVERY_MS = 2000;
const LATER_MS = 10000;
const VIEWS_EVERY_MS = 6000;

/**
 * Ask the server again and again for what the run has finished. Groups are added to `rows`, and `grow` is called after
 * that. Views are asked for only while `wanted()` is true, and go to `show`. `element` says how it goes, and `soon` asks
 * at once.
 * @param {{cursor: number, run: number, page: number}} live
 * @param {import("./data.js").Row[]} rows
 * @param {{grow: () => unknown, wanted: () => boolean, show: (views: Record<string, any[]>) => unknown}} report
 */
export function followRun(live, rows, { grow, wanted, show }) {
  const element = el("div.live", { role: "status" }, "Following the run.");
  const say = (text) => {
    if (element.textContent !== text) element.textContent = text;
  };
  let { cursor } = live;
  let viewedAt = performance.now();
  let viewed = rows.length;
  let timer = 0;
  let asking = false;

  const askForGroups = async () => {
    const news = await asked(`groups?run=${live.run}&after=${cursor}`);
    if (news.rows.length) {
      add(news, rows);
      await grow();
    }
    cursor = news.cursor;
    return news;
  };
  const askForViews = async () => {
    if (!wanted() || (viewed === rows.length && performance.now() - viewedAt < VIEWS_EVERY_MS)) return;
    const count = rows.length;
    await show(await asked(`views?page=${live.page}`));
    [viewedAt, viewed] = [performance.now(), count];
  };
  const again = async () => {
    clearTimeout(timer);
    if (asking) return;
    asking = true;
    let wait = EVERY_MS;
    try {
      const news = await askForGroups();
      if (news.more) wait = 0;
      else await askForViews();
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
    asking = false;
    timer = setTimeout(again, wait);
  };
  timer = setTimeout(again, EVERY_MS);
  return { element, soon: again };
}

async function asked(address) {
  const reply = await fetch(address, { cache: "no-store" });
  const found = await reply.json();
  if (!reply.ok) throw new Error(found.error);
  return found;
}

function add(news, rows) {
  const chunk = addDetails(news.details);
  for (const row of news.rows) rows.push({ ...row, chunk, position: rows.length });
}
