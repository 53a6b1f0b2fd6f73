// The site's search, in the place of Zensical's worker and with its messages: sections ranked by BM25. A heading counts
// more than the title of its page, and that more than text; word forms are alike; a word that a section lacks lowers its
// rank and does not hide it.
const FIELDS = [["title", 5], ["page", 2], ["text", 1]];
const COMMON = new Set("a an and are as at be by can do does for from has have how i if in is it me my no not of on or so that the this to was what when where which who why with you your".split(" "));
const ENDINGS = "ations ation ators ator ating ated ates ate ments ment ities ity ings ing ions ion ible able ies ied ers er es ed ly s y e".split(" ");
const SHOWN = 20;

let sections = [], length = 0, index = new Map(); // the mean length of texts; stem -> section -> field -> ranges

function stem(word) {
  const ending = ENDINGS.find(one => word.endsWith(one) && word.length >= Math.max(4, one.length + 4) - (one.length < 3)) ?? "";
  return word.slice(0, word.length - ending.length).replace(/([^aeiou])\1$/u, "$1");
}

function* tokens(text) {
  for (const { 0: found, index: start } of text.matchAll(/<[^>]*>|&\w+;|[\p{L}\p{N}]+(?:\.\p{N}+)*/gu)) {
    if (!"<&".includes(found[0])) yield { start, end: start + found.length, word: found.normalize("NFKD").toLowerCase() };
  }
}

function read(items) {
  const titles = new Map(items.filter(item => item.level === 1).map(item => [item.location.split("#")[0], item.title]));
  sections = items.map(item => ({ ...item, page: item.level === 1 ? "" : titles.get(item.location.split("#")[0]) ?? "", count: {} }));
  for (const [field] of FIELDS) {
    sections.forEach((section, id) => {
      section.count[field] = 0;
      for (const { start, end, word } of tokens(section[field])) {
        section.count[field] += 1;
        const key = stem(word);
        if (!index.has(key)) index.set(key, new Map());
        const places = index.get(key);
        if (!places.has(id)) places.set(id, {});
        (places.get(id)[field] ??= []).push({ start, end, value: end - start });
      }
    });
  }
  length = sections.reduce((sum, section) => sum + section.count.text, 0) / sections.length;
}

function stems(word) { // an unknown word stands for those that begin with as much of it as any does
  if (index.has(stem(word))) return [stem(word)];
  for (let size = word.length; size >= Math.min(word.length, 4); size--) {
    const known = [...index.keys()].filter(key => key.startsWith(word.slice(0, size)));
    if (known.length) return known;
  }
  return [];
}

function search(input) {
  const typed = [...tokens(input)].map(token => token.word);
  const asked = typed.filter(word => !COMMON.has(word));
  const ranks = new Map();
  let whole = 0;
  for (const word of asked.length ? asked : typed) {
    const best = new Map(); // a section's best of the forms of this word
    const forms = stems(word);
    const holding = new Set(forms.flatMap(form => [...index.get(form).keys()]));
    const rare = Math.log(1 + (sections.length - holding.size + 0.5) / (holding.size + 0.5));
    whole += rare;
    for (const form of forms) for (const [id, places] of index.get(form)) {
      let score = 0;
      for (const [field, weight] of FIELDS) {
        const count = places[field]?.length ?? 0;
        const long = field === "text" ? sections[id].count.text / length : 1;
        score += weight * count / (count + 0.6 + 0.6 * long);
      }
      if (score > (best.get(id)?.score ?? 0)) best.set(id, { score, places });
    }
    for (const [id, { score, places }] of best) {
      const rank = ranks.get(id) ?? { id, score: 0, share: 0, places: [] };
      ranks.set(id, { id, score: rank.score + rare * score, share: rank.share + rare, places: [...rank.places, places] });
    }
  }
  const found = [...ranks.values()].map(rank => ({ ...rank, score: rank.score * (rank.share / whole) * (sections[rank.id].weight ?? 1) }));
  return found.sort((one, other) => other.score - one.score || one.id - other.id);
}

function shown({ id, places }) {
  const matches = [];
  for (const field of ["title", "text"]) {
    const ranges = places.flatMap(place => place[field] ?? []).sort((one, other) => one.start - other.start);
    if (ranges.length) matches.push({ field, value: { highlight: { ranges } } });
  }
  return { id, matches };
}

self.onmessage = ({ data: { type, data } }) => {
  if (type === 0) {
    read(data.items);
    self.postMessage({ type: 1 });
  } else if (type === 2) {
    const found = typeof data.input === "string" ? search(data.input) : [];
    self.postMessage({ type: 3, data: { items: found.slice(0, SHOWN).map(shown), pagination: { total: Math.min(found.length, SHOWN) }, query: { values: [] } } });
  }
};
