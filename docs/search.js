// What the theme's worker of the search begins with. The theme looks for whatever begins with a word of a query, and in a
// question that is too much ("a", "to") and too little (no "machine" for "machines"). So words that say nothing of the subject
// are left out, unless there are no others (`where`, `all`), a word counts most where it stands as it is, and less where a
// longer one begins with its stem.
const SILENT = ["use", "using", "work", "works"] // beside those that the theme knows
addEventListener("message", ({ data: message }) => {
  if (message.type !== 2) return // 2: a query
  const words = message.data.toLowerCase().split(/[\s.,?]+|\b-\b/).filter(Boolean)
  const telling = words.filter((word) => lunr.stopWordFilter(word) && !SILENT.includes(word))
  const sought = (word) => (/^\w+$/.test(word) ? `${word}^30 ${lunr.stemmer(new lunr.Token(word))}` : word)
  message.data = (telling.length ? telling : words).map(sought).join(" ")
})
