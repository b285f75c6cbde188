// Draws the charts once the page is loaded, and again for printing, where paper has another width than the screen.
const charts = [...document.querySelectorAll(".chart")].map((element) => {
  const figure = JSON.parse(document.getElementById(element.dataset.figure).textContent);
  const options = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]] };
  Plotly.newPlot(element, figure.data, figure.layout, options);
  return element;
});
const setWidth = (width) => charts.forEach((element) => Plotly.relayout(element, { width, autosize: !width }));
window.addEventListener("beforeprint", () => setWidth(700));
window.addEventListener("afterprint", () => setWidth(undefined));

// Searches the stories of topics and brokers: all words must be part of a name; a single result is opened.
for (const section of document.querySelectorAll(".stories")) {
  const stories = [...section.querySelectorAll(".story")];
  const input = section.querySelector(".search");
  const found = section.querySelector(".found");
  const shown = 30;
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const matching = stories.filter((story) => words.every((word) => story.dataset.subject.includes(word)));
    const visible = new Set(matching.slice(0, shown));
    stories.forEach((story) => {
      story.hidden = !visible.has(story);
      story.open = matching.length === 1 && visible.has(story);
    });
    const more = matching.length > shown ? `, the first ${shown} are shown` : "";
    found.textContent = `${matching.length.toLocaleString("en-US")} of ${stories.length.toLocaleString("en-US")} with events${more}`;
  };
  input.addEventListener("input", search);
  search();
}
