// Draws the pictures once the page stands, and again when the width of the paper is not that of the screen.
const charts = [...document.querySelectorAll(".chart")].map((element) => {
  const figure = JSON.parse(document.getElementById(element.dataset.figure).textContent);
  const settings = { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]] };
  Plotly.newPlot(element, figure.data, figure.layout, settings);
  return element;
});
const fit = (width) => charts.forEach((element) => Plotly.relayout(element, { width, autosize: !width }));
window.addEventListener("beforeprint", () => fit(700));
window.addEventListener("afterprint", () => fit(undefined));
