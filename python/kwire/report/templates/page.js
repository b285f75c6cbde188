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
